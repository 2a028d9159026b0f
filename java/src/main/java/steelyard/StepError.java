package steelyard;

/** A step of a transaction has no value: a division by zero, a value that no row gave. The transaction fails. */
final class StepError extends RuntimeException {
    private static final long serialVersionUID = 1;

    StepError(String message) {
        super(message, null, false, false);
    }
}
