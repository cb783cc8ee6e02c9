package peers;

import com.fasterxml.jackson.databind.JsonNode;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Session;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** A well-behaved pair beside the load: one small message a millisecond. */
final class Pinging {
  private static final long EVERY_NS = 1_000_000;
  private static final long PATIENCE_NS = 10_000_000_000L;

  private final JsonNode task;
  private final LinkedBlockingQueue<Long> arrivals = new LinkedBlockingQueue<>();
  private final Load.Content content = new Load.Content(Map.of("ping", 1L), new byte[0], 1);
  private Connection connection;
  private Load.Sender sender;

  Pinging(JsonNode task) {
    this.task = task;
  }

  Map<String, Main.Order> orders() {
    return Map.of("connect", words -> connect(), "ping", words -> ping(words[1]));
  }

  private Map<String, Object> connect() throws JMSException {
    if (connection != null) {
      Load.closeQuietly(connection);
      sender.close();
    }
    connection = Load.connect(task.get("subscribe").asText());
    Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    session
        .createConsumer(session.createTopic(Load.PINGS), "ping = 1")
        .setMessageListener(message -> arrivals.add(System.nanoTime()));
    connection.start();
    sender = new Load.Sender(task.get("publish").asText(), Load.PINGS);
    return Map.of();
  }

  private Map<String, Object> ping(String seconds) throws Exception {
    int count = (int) (Double.parseDouble(seconds) * 1e9 / EVERY_NS);
    long start = System.nanoTime();
    var failure = new AtomicReference<JMSException>();
    var sending =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < count; i++) {
                  LockSupport.parkNanos(start + i * EVERY_NS - System.nanoTime());
                  sender.send(i, content);
                }
              } catch (JMSException error) {
                failure.set(error);
              }
            });
    sending.start();
    long longest = 0;
    int came = 0;
    long giveUp = start + count * EVERY_NS + PATIENCE_NS;
    while (came < count) {
      Long at = arrivals.poll(giveUp - System.nanoTime(), TimeUnit.NANOSECONDS);
      longest = Math.max(longest, (at == null ? giveUp : at) - start - came * EVERY_NS);
      if (at == null) {
        break;
      }
      came++;
    }
    sending.join();
    if (failure.get() != null) {
      throw failure.get();
    }
    return Map.of("longest_ms", longest / 1e6, "count", count, "lost", count - came);
  }
}
