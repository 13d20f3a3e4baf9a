package shop;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

/** The pages of the shop. */
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
    Refusals.relay(anteroom.join(login(user)), response); // the token of the user's place, or why there is none
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
  String order(@RequestAttribute(Gate.PLACE) String place) {
    anteroom.finish(place); // after your own work is committed
    return "Your order is complete.";
  }
}
