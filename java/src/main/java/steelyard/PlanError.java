package steelyard;

/** The plan wants something that this engine does not have. */
final class PlanError extends RuntimeException {
    private static final long serialVersionUID = 1;

    PlanError(String message) {
        super(message);
    }
}
