package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.List;

/** What a visitor gets who may not enter. */
public class Refusals {
  private static final List<String> ANSWER_HEADERS =
      List.of("content-type", "retry-after", "www-authenticate", "x-anteroom-room", "x-anteroom-refusal");

  private final String shopUrl;

  /** The address that visitors type. Its origin is in return_to_origins. */
  public Refusals(String shopUrl) {
    this.shopUrl = shopUrl;
  }

  /** A page leads to the waiting room. A script gets Anteroom's own answer. */
  public void refuse(HttpServletRequest request, HttpServletResponse response, Anteroom.Answer answer)
      throws IOException {
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
      send(response, answer.status(), "<p>Nothing was changed. " + link + "</p>");
    }
  }

  // Not sendError: Spring Boot then sends its own error page.
  static void send(HttpServletResponse response, int status, String page) throws IOException {
    response.setStatus(status);
    response.setContentType("text/html;charset=UTF-8");
    response.getOutputStream().write(page.getBytes(UTF_8));
  }

  /** Returns Anteroom's own answer. */
  public static void relay(Anteroom.Answer answer, HttpServletResponse response) throws IOException {
    response.setStatus(answer.status());
    ANSWER_HEADERS.stream().filter(name -> !answer.header(name).isEmpty())
        .forEach(name -> response.setHeader(name, answer.header(name)));
    response.getOutputStream().write(answer.body());
  }
}
