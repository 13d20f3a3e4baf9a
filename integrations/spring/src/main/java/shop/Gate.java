package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.filter.OncePerRequestFilter;

/** The gateway check as a servlet filter. */
public class Gate extends OncePerRequestFilter {
  /** The request's attribute with the handle of the visitor's place. */
  public static final String PLACE = "anteroom.place";
  private static final List<String> TOKEN_HEADERS = List.of("cookie", "x-anteroom-token", "authorization");
  private static final Logger LOG = LoggerFactory.getLogger(Gate.class);

  private final Anteroom anteroom;
  private final Refusals refusals;
  private final Set<String> openPaths;

  /** The open paths need no place. */
  public Gate(Anteroom anteroom, Refusals refusals, String... openPaths) {
    this.anteroom = anteroom;
    this.refusals = refusals;
    this.openPaths = Set.of(openPaths);
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
    Anteroom.Answer answer = anteroom.check(headers);
    response.setHeader("Cache-Control", "private, no-store");
    answer.headers().getOrDefault("set-cookie", List.of()).forEach(line -> response.addHeader("Set-Cookie", line));
    if (answer.status() == 200) {
      request.setAttribute(PLACE, answer.header("x-anteroom-place"));
      chain.doFilter(request, response);
    } else if (answer.status() == 401 || answer.status() == 403) {
      refusals.refuse(request, response, answer);
    } else {
      LOG.warn("the gateway check failed: {} {}", answer.status(), new String(answer.body(), UTF_8));
      response.setHeader("Retry-After", "5");
      Refusals.send(response, 503, "The waiting room is not available. Please try again.");
    }
  }
}
