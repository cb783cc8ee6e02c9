package peers;

import com.fasterxml.jackson.databind.JsonNode;
import jakarta.jms.JMSException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** The publisher of a cell: as fast as deliveries come, or at times that are fixed ahead. */
final class Publishing {
  private static final long NAP_NS = 100_000;
  private static final int CHUNK = 64;

  private final JsonNode task;
  private final ByteBuffer progress;
  private final List<Load.Content> contents;
  private Load.Sender sender;

  Publishing(JsonNode task) throws IOException {
    this.task = task;
    progress = Load.progress(task);
    contents = Load.contents(task);
  }

  Map<String, Main.Order> orders() {
    return Map.of(
        "connect", words -> connect(),
        "flood",
            words ->
                flood(
                    Integer.parseInt(words[1]),
                    Double.parseDouble(words[2]),
                    Integer.parseInt(words[3])),
        "schedule", this::schedule);
  }

  private Map<String, Object> connect() throws JMSException {
    if (sender != null) {
      sender.close();
    }
    sender = new Load.Sender(task.get("publish").asText(), Load.TOPIC);
    return Map.of();
  }

  private Map<String, Object> flood(int first, double seconds, int window)
      throws JMSException {
    // The deliveries that must have come before a number is sent, at that modulo window.
    long[] needed = new long[window];
    long total = Load.came(progress);
    Arrays.fill(needed, total);
    long begin = System.nanoTime();
    long end = begin + (long) (seconds * 1e9);
    int number = first;
    while (System.nanoTime() < end) {
      long came = Load.came(progress);
      int some = 0;
      while (some < CHUNK && needed[(number + some) % needed.length] <= came) {
        total += contents.get((number + some) % contents.size()).deliveries();
        needed[(number + some) % needed.length] = total;
        some++;
      }
      if (some == 0) {
        LockSupport.parkNanos(NAP_NS);
      }
      send(number, some);
      number += some;
    }
    return Map.of("count", number - first, "begin_ns", begin);
  }

  private Map<String, Object> schedule(String[] words) throws JMSException {
    int first = Integer.parseInt(words[1]);
    int count = Integer.parseInt(words[2]);
    double step = 1e9 / Double.parseDouble(words[3]);
    long start = Long.parseLong(words[4]);
    int sent = 0;
    while (sent < count) {
      int due = (int) Math.min(count, (System.nanoTime() - start) / step + 1);
      if (due <= sent) {
        LockSupport.parkNanos(start + (long) (sent * step) - System.nanoTime());
        continue;
      }
      send(first + sent, due - sent);
      sent = due;
    }
    return Map.of("count", count);
  }

  private void send(int number, int count) throws JMSException {
    for (int i = number; i < number + count; i++) {
      sender.send(i, contents.get(i % contents.size()));
    }
  }
}
