package example;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.gateway.filter.GatewayFilter;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** Before a request goes to a suite, the token server is asked whether it may. The suite gets the client instead of the token. */
@SpringBootApplication
public class Gateway {
  /** What only the check says. */
  static final List<String> CLIENT =
      List.of("X-Client-Id", "X-Application-Name", "X-Developer-Email", "X-Application-Labels", "X-Token-Id", "X-Token-Expires");

  /** Paths that a suite could read differently: empty and dot segments, backslashes, and the encoded forms of these. */
  static final Pattern AMBIGUOUS = Pattern.compile(
      "(/|%2f)(/|%2f)|[\\\\#]|%(25)+2f|%(25)*(5c|00|c0|c1)|%u|(/|%2f)(\\.|%(25)*2e){1,2}([/;]|$|%(25)*(2f|3b|3f|23))",
      Pattern.CASE_INSENSITIVE);

  public static void main(String[] args) {
    SpringApplication.run(Gateway.class, args);
  }

  @Bean
  @Order(-100)
  WebFilter unambiguous() {
    return (exchange, chain) -> {
      var request = exchange.getRequest();
      if (request.getMethod() == HttpMethod.TRACE) return refuse(exchange, HttpStatus.METHOD_NOT_ALLOWED);
      var isAmbiguous = AMBIGUOUS.matcher(request.getURI().getRawPath()).find();
      return isAmbiguous ? refuse(exchange, HttpStatus.BAD_REQUEST) : chain.filter(exchange);
    };
  }

  /** What the gateway itself refuses is JSON, like the refusals of the token server. */
  @Bean
  @Order(-2)
  WebExceptionHandler refusals() {
    return (exchange, error) -> exchange.getResponse().isCommitted()
        ? Mono.error(error)
        : refuse(exchange, error instanceof ResponseStatusException known
            ? known.getStatusCode()
            : HttpStatus.SERVICE_UNAVAILABLE);
  }

  static Mono<Void> refuse(ServerWebExchange exchange, HttpStatusCode status) {
    var body = status.is5xxServerError()
        ? "{\"error\":\"temporarily_unavailable\",\"error_description\":\"The server cannot do this now; try again\"}"
        : status.value() == 404
            ? "{\"error\":\"invalid_request\",\"error_description\":\"There is nothing at this path\"}"
            : "{\"error\":\"invalid_request\",\"error_description\":\"The request is malformed\"}";
    var headers = new HttpHeaders();
    headers.setContentType(MediaType.APPLICATION_JSON);
    headers.setCacheControl("no-store");
    return answer(exchange.getResponse(), status, headers, body.getBytes(StandardCharsets.UTF_8));
  }

  static Mono<Void> answer(ServerHttpResponse response, HttpStatusCode status, HttpHeaders headers, byte[] body) {
    response.setStatusCode(status);
    response.getHeaders().putAll(headers);
    response.getHeaders().setContentLength(body.length);
    return response.writeWith(Mono.just(response.bufferFactory().wrap(body)));
  }

  /** The filter Check=SUITE of a route. */
  @Component
  static class CheckGatewayFilterFactory
      extends AbstractGatewayFilterFactory<AbstractGatewayFilterFactory.NameConfig> {
    private final WebClient tokenServer;

    CheckGatewayFilterFactory(@Value("${token-server}") String address) {
      super(NameConfig.class);
      var client = HttpClient.create().responseTimeout(Duration.ofSeconds(5));
      tokenServer = WebClient.builder().baseUrl(address + "/v1/oauth/verify/")
          .clientConnector(new ReactorClientHttpConnector(client)).build();
    }

    @Override
    public List<String> shortcutFieldOrder() {
      return List.of(NAME_KEY);
    }

    @Override
    public GatewayFilter apply(NameConfig config) {
      return (exchange, chain) -> {
        var request = exchange.getRequest();
        return check(config.getName(), request).flatMap(checked -> {
          if (checked.getStatusCode().value() == 200) {
            return chain.filter(exchange.mutate().request(identified(request, checked.getHeaders())).build());
          }
          // Any other answer says nothing about the token.
          if (!List.of(400, 401, 403).contains(checked.getStatusCode().value())) {
            return refuse(exchange, HttpStatus.SERVICE_UNAVAILABLE);
          }
          var headers = new HttpHeaders();
          for (var name : List.of("WWW-Authenticate", "Content-Type", "Cache-Control")) {
            var value = checked.getHeaders().getFirst(name);
            if (value != null) headers.set(name, value);
          }
          var body = checked.getBody();
          return answer(exchange.getResponse(), checked.getStatusCode(), headers, body == null ? new byte[0] : body);
        });
      };
    }

    private Mono<ResponseEntity<byte[]>> check(String suite, ServerHttpRequest request) {
      return tokenServer.get().uri(suite)
          .headers(headers -> {
            for (var name : List.of("Authorization", "X-Request-Id", "traceparent")) {
              headers.addAll(name, request.getHeaders().getOrEmpty(name));
            }
            headers.set("X-Forwarded-For", addressOf(request));
          })
          .retrieve().onStatus(status -> true, response -> Mono.empty())
          .toEntity(byte[].class)
          .onErrorReturn(ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE).build());
    }

    private static ServerHttpRequest identified(ServerHttpRequest request, HttpHeaders checked) {
      return request.mutate().headers(headers -> {
        // Many frameworks treat X_Client_Id and X.Client.Id as X-Client-Id.
        for (var name : List.copyOf(headers.headerNames())) {
          if (!name.matches("[-A-Za-z0-9]+")) headers.remove(name);
        }
        for (var name : CLIENT) {
          headers.remove(name);
          if (checked.getFirst(name) != null) headers.set(name, checked.getFirst(name));
        }
        // What Connection names would not reach the suite.
        for (var name : List.of("Authorization", "Connection", "Forwarded", "X-Forwarded-For")) headers.remove(name);
        headers.set("X-Request-Id", checked.getFirst("X-Request-Id"));
      }).build();
    }

    private static String addressOf(ServerHttpRequest request) {
      InetSocketAddress address = request.getRemoteAddress();
      return address == null ? "unknown" : address.getAddress().getHostAddress();
    }
  }
}
