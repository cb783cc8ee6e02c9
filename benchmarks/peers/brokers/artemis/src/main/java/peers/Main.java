package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * The server, and the workers that speak with it: {@code serve FOLDER PORT} or
 * {@code artemis ROLE TASK}.
 *
 * <p>Roles, orders and answers are those of Sapwood's workers (sapwood_lab.benchmarks.broker).
 */
public final class Main {
  static final ObjectMapper JSON = new ObjectMapper();

  private Main() {}

  /** Does what an order asks for, and answers. */
  interface Order {
    Map<String, Object> obey(String[] words) throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("serve")) {
      Serving.serve(Path.of(arguments[1]), Integer.parseInt(arguments[2]));
      return;
    }
    JsonNode task = JSON.readTree(Files.readAllBytes(Path.of(arguments[2])));
    Map<String, Order> orders =
        switch (arguments[1]) {
          case "receiving" -> new Receiving(task).orders();
          case "publishing" -> new Publishing(task).orders();
          default -> new Pinging(task).orders();
        };
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      Map<String, Object> said;
      try {
        said = orders.get(words[0]).obey(words);
      } catch (Exception error) {
        said = Map.of("error", String.valueOf(error));
      }
      System.out.println(JSON.writeValueAsString(said));
      System.out.flush();
    }
    System.exit(0); // The client library has threads that would go on.
  }
}
