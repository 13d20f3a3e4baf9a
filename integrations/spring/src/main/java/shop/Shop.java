package shop;

import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import tools.jackson.databind.json.JsonMapper;

/** A shop that uses Anteroom.java and Signatures.java. The tests in integrations/checks run it. */
@SpringBootApplication
public class Shop {
  public static void main(String[] arguments) {
    var context = SpringApplication.run(Shop.class, arguments);
    System.out.println("listening on http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port"));
  }

  /** All paths need a place, but what a user needs to get one, and the webhook. */
  @Bean
  Anteroom anteroom(Environment environment) {
    return new Anteroom(environment, "/identity", "/join", "/webhook");
  }

  @Bean
  Signatures signatures(Environment environment) {
    return new Signatures(environment);
  }

  @Bean
  FilterRegistrationBean<Filter> gate(Anteroom anteroom) {
    var registration = new FilterRegistrationBean<Filter>(anteroom);
    registration.setOrder(2);
    return registration;
  }

  /** A page of another origin can send your visitors' cookies. It must change nothing (CSRF). */
  @Bean
  FilterRegistrationBean<Filter> origins(Environment environment) {
    URI shop = URI.create(environment.getProperty("SHOP_URL", "http://127.0.0.1:3000"));
    var registration = new FilterRegistrationBean<Filter>((incoming, outgoing, chain) -> {
      var request = (HttpServletRequest) incoming;
      String site = request.getHeader("sec-fetch-site"), origin = request.getHeader("origin");
      boolean isOurs = site != null ? Set.of("same-origin", "none").contains(site)
          : origin == null || origin.equals(shop.getScheme() + "://" + shop.getAuthority());
      if (Set.of("GET", "HEAD").contains(request.getMethod()) || isOurs) {
        chain.doFilter(incoming, outgoing);
      } else {
        ((HttpServletResponse) outgoing).setStatus(403);
      }
    });
    registration.setOrder(1);
    return registration;
  }
}

@RestController
class Pages {
  private final Anteroom anteroom;
  private final Signatures signatures;
  private final JsonMapper json;
  // Your database: store the key in the transaction that hands out the item.
  private final Set<String> handedOut = ConcurrentHashMap.newKeySet();

  Pages(Anteroom anteroom, Signatures signatures, JsonMapper json) {
    this.anteroom = anteroom;
    this.signatures = signatures;
    this.json = json;
  }

  private static String login(String user) {
    if (user == null || user.isEmpty()) { // your login
      throw new ResponseStatusException(HttpStatus.UNAUTHORIZED);
    }
    return user;
  }

  @GetMapping("/identity")
  ResponseEntity<?> identity(@RequestHeader(name = "x-demo-user", required = false) String user) {
    var body = Map.of("assertion", signatures.assertion(login(user)));
    return ResponseEntity.ok().header("Cache-Control", "no-store").body(body);
  }

  @PostMapping("/join")
  void join(@RequestHeader(name = "x-demo-user", required = false) String user, HttpServletResponse response)
      throws IOException {
    response.setHeader("Cache-Control", "no-store");
    Anteroom.relay(anteroom.join(login(user)), response); // the token of the user's place, or why there is none
  }

  @PostMapping("/webhook")
  ResponseEntity<?> webhook(@RequestHeader(name = "x-anteroom-signature", defaultValue = "") String signature,
      @RequestBody(required = false) byte[] body) {
    if (body == null || !signatures.isFromAnteroom(signature, body)) {
      return ResponseEntity.status(401).build();
    }
    String key = json.readTree(body).get("idempotency_key").asString();
    return ResponseEntity.status(handedOut.add(key) ? 201 : 409).build();
  }

  @GetMapping("/seats")
  String seats() {
    return "<h1>Seats</h1><form method=\"post\" action=\"/order\"><button>Order</button></form>";
  }

  @PostMapping("/order")
  String order(@RequestAttribute(Anteroom.PLACE) String place) {
    anteroom.finish(place); // after your own work is committed
    return "Your order is complete.";
  }
}
