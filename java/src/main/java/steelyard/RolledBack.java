package steelyard;

/** A client outside the load: what its steps begin and commit stays within one transaction, which is rolled back. */
abstract class RolledBack extends Client {
    /** Steps that roll back end their transaction: what follows would be another one. */
    static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    RolledBack(int number, Work work, Target target) {
        super(number, work, target);
    }

    RolledBack(Client of, Work work) {
        super(of, work);
    }

    @Override
    void begin() {}

    @Override
    void commit() {}

    @Override
    void rollBack() {
        throw new Ended();
    }

    @Override
    void pause(long ns) {}
}
