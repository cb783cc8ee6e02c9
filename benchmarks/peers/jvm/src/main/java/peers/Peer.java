package peers;

import com.fasterxml.jackson.databind.JsonNode;

/** An engine under measurement: subscriptions in, the number of matches of a publication out. */
interface Peer extends AutoCloseable {
    /** Add one subscription; false if the engine cannot say it. */
    boolean add(String id, JsonNode any) throws Exception;

    /** Called once when all are added, for engines that add in batches. */
    default void finish() throws Exception {}

    /** A publication in the form that {@link #match} takes; not measured. */
    Object prepare(JsonNode attributes) throws Exception;

    /** How many subscriptions match. */
    int match(Object publication) throws Exception;

    @Override
    default void close() throws Exception {}
}
