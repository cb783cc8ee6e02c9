package peers;

import java.nio.file.Path;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;

/** The server in this process, with nothing persistent and no users. */
final class Serving {
  private Serving() {}

  static void serve(Path folder, int port) throws Exception {
    Configuration configuration =
        new ConfigurationImpl()
            .setPersistenceEnabled(false)
            .setSecurityEnabled(false)
            .setJournalDirectory(folder.resolve("journal").toString())
            .setBindingsDirectory(folder.resolve("bindings").toString())
            .setPagingDirectory(folder.resolve("paging").toString())
            .setLargeMessagesDirectory(folder.resolve("large").toString())
            .addAcceptorConfiguration(
                "core", "tcp://127.0.0.1:" + port + "?protocols=CORE;tcpNoDelay=true");
    configuration.addAddressSetting("#", new AddressSettings().setAutoCreateAddresses(true));
    new EmbeddedActiveMQ().setConfiguration(configuration).start();
    Thread.currentThread().join();
  }
}
