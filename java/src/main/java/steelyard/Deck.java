package steelyard;

/** A shuffled deck of transactions: the mix is exact after each pass through it. */
final class Deck {
    private final int[] cards;
    /** Cards that are still to come. */
    private int left;

    /** As many cards of each transaction as its weight says. */
    Deck(Transaction[] transactions) {
        int size = 0;
        for (Transaction one : transactions) {
            size += (int) one.weight;
        }
        cards = new int[size];
        int at = 0;
        for (int number = 0; number < transactions.length; number++) {
            for (int card = 0; card < (int) transactions[number].weight; card++) {
                cards[at++] = number;
            }
        }
    }

    int next(SmallRandom random) {
        if (left == 0) {
            left = cards.length;
        }
        // Fisher and Yates: the cards from `left` on have come
        int at = random.below(left);
        left--;
        int card = cards[at];
        cards[at] = cards[left];
        cards[left] = card;
        return card;
    }
}
