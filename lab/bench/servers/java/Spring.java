package peers;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcOperations;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.security.crypto.factory.PasswordEncoderFactories;
import org.springframework.security.crypto.password.MessageDigestPasswordEncoder;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.server.authorization.JdbcOAuth2AuthorizationService;
import org.springframework.security.oauth2.server.authorization.OAuth2AuthorizationService;
import org.springframework.security.oauth2.server.authorization.client.JdbcRegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.settings.OAuth2TokenFormat;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;

/** Spring Authorization Server with its JDBC stores and one client, which gets opaque tokens. Expects an empty database. */
@SpringBootApplication
public class Spring {
  private static final String SCHEMAS = "org/springframework/security/oauth2/server/authorization/";

  public static void main(String[] args) {
    SpringApplication.run(Spring.class, args);
  }

  /** bcrypt is what it comes with. SHA-256, once, shows which part of the cost that is. */
  @Bean
  @SuppressWarnings("deprecation")
  PasswordEncoder passwordEncoder() {
    return "SHA-256".equals(System.getenv("SECRET_HASH"))
        ? new MessageDigestPasswordEncoder("SHA-256")
        : PasswordEncoderFactories.createDelegatingPasswordEncoder();
  }

  @Bean
  RegisteredClientRepository clients(JdbcTemplate jdbc, PasswordEncoder encoder) throws Exception {
    for (String schema : new String[] {"client/oauth2-registered-client-schema", "oauth2-authorization-schema"}) {
      // The change for PostgreSQL that the head of these files asks for.
      String sql = new ClassPathResource(SCHEMAS + schema + ".sql").getContentAsString(StandardCharsets.UTF_8)
          .replace(" blob ", " text ").replace(" timestamp ", " timestamptz ");
      new ResourceDatabasePopulator(new ByteArrayResource(sql.getBytes(StandardCharsets.UTF_8)))
          .execute(jdbc.getDataSource());
    }
    RegisteredClientRepository clients = new JdbcRegisteredClientRepository(jdbc);
    clients.save(RegisteredClient.withId("bench")
        .clientId(System.getenv("CLIENT_ID"))
        .clientSecret(encoder.encode(System.getenv("CLIENT_SECRET")))
        .clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_POST)
        .clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_BASIC)
        .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
        .tokenSettings(TokenSettings.builder()
            .accessTokenFormat(OAuth2TokenFormat.REFERENCE)
            .accessTokenTimeToLive(Duration.ofHours(1))
            .build())
        .build());
    return clients;
  }

  @Bean
  OAuth2AuthorizationService authorizations(JdbcOperations jdbc, RegisteredClientRepository clients) {
    return new JdbcOAuth2AuthorizationService(jdbc, clients);
  }
}
