package peers;

import com.fasterxml.jackson.databind.JsonNode;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.Session;
import jakarta.jms.Topic;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** All clients of a cell: a connection and a session each, a consumer a subscription. */
final class Receiving {
  private static final int LINE_BYTES = 20;

  private final JsonNode task;
  private final ByteBuffer progress;
  private final List<List<JsonNode>> own = new ArrayList<>();
  private final List<Connection> connections = new ArrayList<>();
  private List<long[]> received = new ArrayList<>();

  Receiving(JsonNode task) throws IOException {
    this.task = task;
    progress = Load.progress(task);
    for (int client = 0; client < task.get("clients").asInt(); client++) {
      own.add(new ArrayList<>());
    }
    for (JsonNode line : Load.lines(task, "subscriptions.jsonl")) {
      own.get(line.get("client").asInt()).add(line);
    }
  }

  Map<String, Main.Order> orders() {
    return Map.of("subscribe", words -> subscribe(), "collect", words -> collect(words[1]));
  }

  private Map<String, Object> subscribe() throws JMSException {
    connections.forEach(Load::closeQuietly);
    connections.clear();
    long begin = System.nanoTime();
    for (int client = 0; client < own.size(); client++) {
      Connection connection = Load.connect(task.get("subscribe").asText());
      connections.add(connection);
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Topic topic = session.createTopic(Load.TOPIC);
      for (JsonNode line : own.get(client)) {
        int place = client;
        int number = line.get("number").asInt();
        session
            .createConsumer(topic, line.get("filter").asText())
            .setMessageListener(message -> take(message, place, number));
      }
      connection.start();
    }
    return Map.of("seconds", (System.nanoTime() - begin) / 1e9);
  }

  private void take(Message message, int client, int subscription) {
    long now = System.nanoTime();
    try {
      int number = message.getIntProperty(Load.NUMBER);
      synchronized (this) {
        received.add(new long[] {now, number, client, subscription});
      }
      Load.countOne(progress);
    } catch (JMSException error) {
      throw new IllegalStateException(error);
    }
  }

  private Map<String, Object> collect(String path) throws IOException {
    List<long[]> lines;
    synchronized (this) {
      lines = received;
      received = new ArrayList<>();
    }
    var buffer = ByteBuffer.allocate(lines.size() * LINE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (long[] line : lines) {
      buffer.putLong(line[0]).putInt((int) line[1]).putInt((int) line[2]).putInt((int) line[3]);
    }
    buffer.flip();
    try (var channel =
        FileChannel.open(
            Path.of(path),
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    }
    return Map.of("lines", lines.size());
  }
}
