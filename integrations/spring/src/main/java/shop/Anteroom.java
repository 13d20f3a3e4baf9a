package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;
import org.springframework.web.filter.OncePerRequestFilter;
import tools.jackson.databind.json.JsonMapper;

/**
 * The calls to Anteroom, and the filter that asks the gateway check. Copy this file into your service:
 * docs/how-to/integrate/spring.md explains it.
 */
public class Anteroom extends OncePerRequestFilter {
  /** The request's attribute with the handle of the visitor's place. */
  public static final String PLACE = "anteroom.place";
  private static final List<String> TOKEN_HEADERS = List.of("cookie", "x-anteroom-token", "authorization");
  private static final List<String> ANSWER_HEADERS =
      List.of("content-type", "retry-after", "www-authenticate", "x-anteroom-room", "x-anteroom-refusal");
  private static final JsonMapper JSON = new JsonMapper();
  private static final Logger LOG = LoggerFactory.getLogger(Anteroom.class);

  static { // of the client of the JDK, which reads them when it is first used
    System.setProperty("jdk.httpclient.keepalive.timeout", "60"); // seconds: Anteroom closes after 75
    System.setProperty("jdk.httpclient.redirects.retrylimit", "1"); // else it adds a retry to ours
  }

  /** An answer of Anteroom. */
  public record Answer(int status, Map<String, List<String>> headers, byte[] body) {
    String header(String name) {
      return headers.getOrDefault(name, List.of("")).get(0);
    }
  }

  private final String queue, publicPort, servicePort, shopUrl;
  private final Map<String, List<String>> serviceHeaders;
  private final Set<String> openPaths;
  private final HttpClient client;

  /** The open paths need no place. */
  public Anteroom(Environment environment, String... openPaths) {
    queue = environment.getProperty("QUEUE", "concert");
    publicPort = environment.getProperty("ANTEROOM_PUBLIC", "http://127.0.0.1:8080");
    servicePort = environment.getProperty("ANTEROOM_SERVICE", "http://127.0.0.1:8081");
    shopUrl = environment.getProperty("SHOP_URL", "http://127.0.0.1:3000"); // its origin is in return_to_origins
    serviceHeaders = Map.of(
        "authorization", List.of("Bearer " + environment.getRequiredProperty("ANTEROOM_KEY")),
        "content-type", List.of("application/json"));
    this.openPaths = Set.of(openPaths);
    client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(); // it follows no redirects
  }

  /** One call: 2 s for a try, one retry after a 5xx or no answer. */
  private Answer call(String port, String method, String path, Map<String, List<String>> headers, String body) {
    var request = HttpRequest.newBuilder(URI.create(port + "/v1/queues/" + queue + "/" + path));
    request.method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    headers.forEach((name, lines) -> lines.forEach(line -> request.header(name, line)));
    Answer answer = null;
    for (int tries = 0; tries < 2 && (answer == null || answer.status >= 500); tries++) {
      var response = client.sendAsync(request.build(), BodyHandlers.ofByteArray());
      try {
        // HttpRequest.timeout ends with the headers of the answer. This is for the whole answer.
        HttpResponse<byte[]> got = response.get(2, TimeUnit.SECONDS);
        answer = new Answer(got.statusCode(), got.headers().map(), got.body());
      } catch (Exception error) {
        response.cancel(true);
        LOG.warn("no answer of Anteroom: {}", error.toString());
        answer = new Answer(503, Map.of("retry-after", List.of("5")), new byte[0]);
      }
    }
    return answer;
  }

  @Override
  protected boolean shouldNotFilter(HttpServletRequest request) {
    return openPaths.contains(request.getRequestURI()); // as sent: /seats/..;/join is none of them
  }

  /** Asks the gateway check. Only 200 passes. */
  @Override
  protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    var headers = new HashMap<String, List<String>>();
    TOKEN_HEADERS.forEach(name -> headers.put(name, Collections.list(request.getHeaders(name))));
    Answer answer = call(publicPort, "GET", "authorize", headers, "");
    response.setHeader("Cache-Control", "private, no-store");
    answer.headers.getOrDefault("set-cookie", List.of()).forEach(line -> response.addHeader("Set-Cookie", line));
    if (answer.status == 200) {
      request.setAttribute(PLACE, answer.header("x-anteroom-place"));
      chain.doFilter(request, response);
    } else if (answer.status == 401 || answer.status == 403) {
      refuse(request, response, answer);
    } else {
      LOG.warn("the gateway check failed: {} {}", answer.status, new String(answer.body, UTF_8));
      response.setHeader("Retry-After", "5");
      send(response, 503, "The waiting room is not available. Please try again.");
    }
  }

  /** A page leads to the waiting room. A script gets Anteroom's own answer. */
  private void refuse(HttpServletRequest request, HttpServletResponse response, Answer answer) throws IOException {
    String room = answer.header("x-anteroom-room"), mode = request.getHeader("sec-fetch-mode");
    String accept = request.getHeader("accept");
    boolean isPage = mode != null ? mode.equals("navigate") : accept != null && accept.contains("text/html");
    if (room.isEmpty() || !isPage) {
      relay(answer, response);
      return;
    }
    boolean isRead = request.getMethod().equals("GET") || request.getMethod().equals("HEAD");
    String query = request.getQueryString() == null ? "" : "?" + request.getQueryString();
    String back = shopUrl + (isRead ? request.getRequestURI() + query : "/");
    String address = room + "?return_to=" + URLEncoder.encode(back, UTF_8);
    if (isRead) {
      response.setStatus(302);
      response.setHeader("Location", address);
    } else {
      String link = "<a href=\"" + address + "\">Go to the waiting room</a>";
      send(response, answer.status, "<p>Nothing was changed. " + link + "</p>");
    }
  }

  // Not sendError: Spring Boot then sends its own error page.
  private static void send(HttpServletResponse response, int status, String page) throws IOException {
    response.setStatus(status);
    response.setContentType("text/html;charset=UTF-8");
    response.getOutputStream().write(page.getBytes(UTF_8));
  }

  /** Returns Anteroom's own answer. */
  public static void relay(Answer answer, HttpServletResponse response) throws IOException {
    response.setStatus(answer.status);
    ANSWER_HEADERS.stream().filter(name -> !answer.header(name).isEmpty())
        .forEach(name -> response.setHeader(name, answer.header(name)));
    response.getOutputStream().write(answer.body);
  }

  /** The visitor is done: its slot is free for the next one. If the call fails, the session ends after session_ttl. */
  public void finish(String place) {
    if (place.isEmpty()) {
      return;
    }
    Answer answer = call(servicePort, "DELETE", "places/" + place, serviceHeaders, "");
    if (answer.status != 204) {
      LOG.warn("a place was not finished: {} {}", answer.status, new String(answer.body, UTF_8));
    }
  }

  /** Joins for a user that you know: the same place on each device. */
  public Answer join(String visitorId) {
    String body = JSON.writeValueAsString(Map.of("visitor_id", visitorId));
    return call(servicePort, "POST", "tokens", serviceHeaders, body);
  }
}
