package shop;

import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.URI;
import java.util.Set;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** A shop behind Anteroom. The tests in integrations/checks run it. */
@SpringBootApplication
public class Shop {
  public static void main(String[] arguments) {
    var context = SpringApplication.run(Shop.class, arguments);
    System.out.println("listening on http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port"));
  }

  @Bean
  Anteroom anteroom(Environment environment) {
    return new Anteroom(environment);
  }

  @Bean
  Signatures signatures(Environment environment) {
    return new Signatures(environment);
  }

  /** All paths need a place, but what a user needs to get one, and the webhook. */
  @Bean
  FilterRegistrationBean<Filter> gate(Anteroom anteroom, @Value("${SHOP_URL}") String shopUrl) {
    var gate = new Gate(anteroom, new Refusals(shopUrl), "/identity", "/join", "/webhook");
    var registration = new FilterRegistrationBean<Filter>(gate);
    registration.setOrder(2);
    return registration;
  }

  /** A page of another origin can send your visitors' cookies. It must change nothing (CSRF). */
  @Bean
  FilterRegistrationBean<Filter> origins(@Value("${SHOP_URL}") URI shop) {
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
