package peers;

import com.fasterxml.jackson.databind.JsonNode;
import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** What all roles share: the load's files, the progress, connections, and sending. */
final class Load {
  /** Where the load's publications go, and pings. */
  static final String TOPIC = "records";

  static final String PINGS = "pings";

  /** The property with a publication's number, which no selector asks for. */
  static final String NUMBER = "publicationNumber";

  private static final VarHandle COUNT =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private Load() {}

  /** A line of publications.jsonl. */
  record Content(Map<String, Object> attributes, byte[] body, long deliveries) {}

  static List<JsonNode> lines(JsonNode task, String name) throws IOException {
    var found = new ArrayList<JsonNode>();
    for (String line : Files.readAllLines(Path.of(task.get("folder").asText(), name))) {
      found.add(Main.JSON.readTree(line));
    }
    return found;
  }

  static List<Content> contents(JsonNode task) throws IOException {
    var found = new ArrayList<Content>();
    for (JsonNode line : lines(task, "publications.jsonl")) {
      var attributes = new java.util.LinkedHashMap<String, Object>();
      byte[] body = new byte[0];
      Iterator<Map.Entry<String, JsonNode>> fields = line.get("attributes").fields();
      while (fields.hasNext()) {
        Map.Entry<String, JsonNode> field = fields.next();
        JsonNode value = field.getValue();
        if (field.getKey().equals("pad")) {
          body = value.asText().getBytes();
        } else if (value.isTextual()) {
          attributes.put(field.getKey(), value.asText());
        } else if (value.isBoolean()) {
          attributes.put(field.getKey(), value.asBoolean());
        } else if (value.isIntegralNumber()) {
          attributes.put(field.getKey(), value.asLong());
        } else {
          attributes.put(field.getKey(), value.asDouble());
        }
      }
      found.add(new Content(attributes, body, line.get("deliveries").asLong()));
    }
    return found;
  }

  /** The deliveries so far, shared between processes. */
  static ByteBuffer progress(JsonNode task) throws IOException {
    Path path = Path.of(task.get("folder").asText(), "progress");
    try (var file = new RandomAccessFile(path.toFile(), "rw")) {
      return file.getChannel()
          .map(FileChannel.MapMode.READ_WRITE, 0, 8)
          .order(ByteOrder.LITTLE_ENDIAN);
    }
  }

  static long came(ByteBuffer progress) {
    return (long) COUNT.getVolatile(progress, 0);
  }

  static void countOne(ByteBuffer progress) {
    COUNT.getAndAdd(progress, 0, 1L);
  }

  static Connection connect(String address) throws JMSException {
    return new ActiveMQConnectionFactory("tcp://" + address + "?tcpNoDelay=true")
        .createConnection();
  }

  /** A connection that publishes to one topic. */
  static final class Sender {
    private final Connection connection;
    private final Session session;
    private final MessageProducer producer;

    Sender(String address, String topic) throws JMSException {
      connection = connect(address);
      session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      producer = session.createProducer(session.createTopic(topic));
      producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
      producer.setDisableMessageID(true);
      producer.setDisableMessageTimestamp(true);
      connection.start();
    }

    void send(int number, Content content) throws JMSException {
      BytesMessage message = session.createBytesMessage();
      for (Map.Entry<String, Object> attribute : content.attributes().entrySet()) {
        message.setObjectProperty(attribute.getKey(), attribute.getValue());
      }
      message.setIntProperty(NUMBER, number);
      message.writeBytes(content.body());
      producer.send(message);
    }

    void close() {
      closeQuietly(connection);
    }
  }

  /** Close a connection whose server may have gone. */
  static void closeQuietly(Connection connection) {
    try {
      connection.close();
    } catch (JMSException gone) {
      // There is nobody to say goodbye to.
    }
  }
}
