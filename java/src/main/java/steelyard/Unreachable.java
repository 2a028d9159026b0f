package steelyard;

/** The driver cannot connect at all: its class, the URL, the server or the login is wrong. */
final class Unreachable extends Exception {
    private static final long serialVersionUID = 1;

    Unreachable(String message) {
        super(message);
    }
}
