package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Measures one engine: {@code Main PEER SUBSCRIPTIONS PUBLICATIONS COUNT FILL_SECONDS SECONDS}.
 *
 * <p>Prints one line of JSON. The first half of the seconds warms the machine up; the median is
 * over single publications of the second half.
 */
final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        int wanted = Integer.parseInt(arguments[3]);
        double fillSeconds = Double.parseDouble(arguments[4]);
        double seconds = Double.parseDouble(arguments[5]);
        try (Peer peer = peer(arguments[0])) {
            long before = usedBytes();
            int added = 0;
            int inexpressible = 0;
            double buildSeconds = 0;
            try (BufferedReader lines = Files.newBufferedReader(Path.of(arguments[1]))) {
                while (added + inexpressible < wanted && buildSeconds < fillSeconds) {
                    JsonNode line = JSON.readTree(lines.readLine());
                    long begin = System.nanoTime();
                    if (peer.add(line.get("id").asText(), line.get("any"))) {
                        added++;
                    } else {
                        inexpressible++;
                    }
                    buildSeconds += (System.nanoTime() - begin) / 1e9;
                }
            }
            long begin = System.nanoTime();
            peer.finish();
            buildSeconds += (System.nanoTime() - begin) / 1e9;
            boolean filled = added + inexpressible == wanted;
            String measured = filled ? measure(peer, Path.of(arguments[2]), seconds, before) : "";
            System.out.printf(
                    Locale.ROOT,
                    "{\"wanted\":%d,\"added\":%d,\"inexpressible\":%d,\"build_s\":%.4f%s}%n",
                    wanted, added, inexpressible, buildSeconds, measured);
        }
    }

    private static Peer peer(String name) throws Exception {
        return switch (name) {
            case "event-ruler" -> new EventRulerPeer();
            case "lucene-monitor" -> new LuceneMonitorPeer();
            default -> throw new IllegalArgumentException("no peer is called " + name);
        };
    }

    private static String measure(Peer peer, Path file, double seconds, long before)
            throws Exception {
        List<Object> publications = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            publications.add(peer.prepare(JSON.readTree(line).get("attributes")));
        }
        long matches = 0;
        for (Object publication : publications) {
            matches += peer.match(publication);
        }
        long memory = usedBytes() - before;
        long start = System.nanoTime();
        long half = start + (long) (seconds / 2 * 1e9);
        long end = start + (long) (seconds * 1e9);
        long[] took = new long[1 << 20];
        int count = 0;
        for (int next = 0; count < took.length; next = (next + 1) % publications.size()) {
            long begin = System.nanoTime();
            if (begin >= end && count > 0) {
                break;
            }
            peer.match(publications.get(next));
            long now = System.nanoTime();
            if (now >= half) {
                took[count++] = now - begin;
            }
        }
        Arrays.sort(took, 0, count);
        return String.format(
                Locale.ROOT,
                ",\"match_us\":%.3f,\"match_p99_us\":%.3f,\"publications\":%d,\"matches\":%d,"
                        + "\"memory_bytes\":%d",
                took[count / 2] / 1e3, took[(int) (count * 0.99)] / 1e3, publications.size(),
                matches, memory);
    }

    /** What is in use once the garbage is gone. */
    private static long usedBytes() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private Main() {}
}
