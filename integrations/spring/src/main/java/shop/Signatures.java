package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.core.env.Environment;

/** Signed identities, and the signatures of webhooks. */
public class Signatures {
  private final String queue, identitySecret, webhookSecret;

  public Signatures(Environment environment) {
    queue = environment.getProperty("QUEUE", "concert");
    identitySecret = environment.getRequiredProperty("ANTEROOM_IDENTITY_SECRET");
    webhookSecret = environment.getRequiredProperty("ANTEROOM_WEBHOOK_SECRET");
  }

  /** A signed identity: the user's browser joins with it on the public port. */
  public String assertion(String visitorId) {
    long expiry = Instant.now().getEpochSecond() + 150;
    String message = "anteroom assertion\n" + queue + "\n" + visitorId + "\n" + expiry;
    var base64url = Base64.getUrlEncoder().withoutPadding();
    String id = base64url.encodeToString(visitorId.getBytes(UTF_8));
    return "ara1." + id + "." + expiry + "." + base64url.encodeToString(mac(identitySecret, message.getBytes(UTF_8)));
  }

  /** Whether a webhook's raw body was signed by Anteroom, within the last 5 minutes. */
  public boolean isFromAnteroom(String signature, byte[] body) {
    List<String> parts = List.of(signature.split(","));
    String time = parts.stream().filter(it -> it.startsWith("t=")).findFirst().orElse("t=").substring(2);
    if (!time.matches("[0-9]{1,18}") || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(time)) > 300) {
      return false;
    }
    byte[] expected = HexFormat.of().formatHex(mac(webhookSecret, (time + ".").getBytes(UTF_8), body)).getBytes(UTF_8);
    return parts.stream().filter(it -> it.startsWith("v1="))
        .anyMatch(it -> MessageDigest.isEqual(it.substring(3).getBytes(UTF_8), expected));
  }

  private static byte[] mac(String secret, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
      List.of(parts).forEach(mac::update);
      return mac.doFinal();
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error); // each Java has this algorithm
    }
  }
}
