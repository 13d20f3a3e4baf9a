package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/** The calls to Anteroom. Copy this folder into your service: docs/how-to/integrate/spring.md explains it. */
public class Anteroom {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Logger LOG = LoggerFactory.getLogger(Anteroom.class);

  static { // of the client of the JDK, which reads them when it is first used
    System.setProperty("jdk.httpclient.keepalive.timeout", "60"); // seconds: Anteroom closes after 75
    System.setProperty("jdk.httpclient.redirects.retrylimit", "1"); // else it adds a retry to ours
  }

  /** An answer of Anteroom. */
  public record Answer(int status, Map<String, List<String>> headers, byte[] body) {
    public String header(String name) {
      return headers.getOrDefault(name, List.of("")).get(0);
    }
  }

  private final String queue, publicPort, servicePort;
  private final Map<String, List<String>> serviceHeaders;
  private final HttpClient client;

  public Anteroom(Environment environment) {
    queue = environment.getProperty("QUEUE", "concert");
    publicPort = environment.getProperty("ANTEROOM_PUBLIC", "http://127.0.0.1:8080");
    servicePort = environment.getProperty("ANTEROOM_SERVICE", "http://127.0.0.1:8081");
    serviceHeaders = Map.of(
        "authorization", List.of("Bearer " + environment.getRequiredProperty("ANTEROOM_KEY")),
        "content-type", List.of("application/json"));
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

  /** Asks the gateway check about a visitor with these headers. */
  public Answer check(Map<String, List<String>> headers) {
    return call(publicPort, "GET", "authorize", headers, "");
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
