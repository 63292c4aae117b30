import { type Generator, openapiGenerator } from './generator.ts'

const { generate, tools, install } = openapiGenerator('java', '--library native')

/** Java, with the HTTP client of the JDK. */
export const java: Generator = {
  tools: [...tools, 'javac', 'mvn'],
  install,
  generate: (description, name) =>
    `${generate(description, name)} --invoker-package ${name} --api-package ${name} --model-package ${name}`,
  file: 'Main.java',
  run: `mv admin_api/src/main/java/admin_api Main.java public_api/src/main/java && cd public_api
    mvn -q -B compile dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib >&2
    java -cp 'target/classes:lib/*' Main`,
  program: `
import admin_api.*;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import public_api.ChecksApi;
import public_api.TokensApi;

class Main {
  public static void main(String[] args) throws Exception {
    var admin = new ApiClient();
    admin.updateBaseUri(System.getenv("ADMIN"));
    admin.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("ADMIN_KEY")));
    var suite = new SuitesApi(admin).registerSuite(new SuiteRegistration().id("store").name("Store API"), null);
    var applications = new ApplicationsApi(admin);
    RegisteredApplication application = null;
    for (var name : List.of("One", "Two", "Three")) {
      var registration = new Registration().name(name).developerEmail("a@b.example").suites(List.of("store"));
      application = applications.registerApplication(registration, null);
    }

    String next = null;
    do {
      var page = applications.listApplications(null, null, null, null, 2, next);
      System.out.println(page.getApplications().stream().map(one -> one.getName()).collect(Collectors.joining(" ")));
      next = page.getNext();
    } while (next != null);

    var open = new public_api.ApiClient();
    open.updateBaseUri(System.getenv("PUBLIC"));
    var bySuite = new public_api.ApiClient();
    bySuite.updateBaseUri(System.getenv("PUBLIC"));
    var credentials = Base64.getEncoder().encodeToString((suite.getId() + ":" + suite.getClientSecret()).getBytes());
    bySuite.setRequestInterceptor(request -> request.header("Authorization", "Basic " + credentials));
    var tokens = new TokensApi(open);
    var checks = new ChecksApi(bySuite);
    var id = application.getClientId();
    var token = tokens.requestToken("client_credentials", id, application.getClientSecret(), null, null, null);
    System.out.println(checks.introspectToken(token.getAccessToken(), null, null, null, null, null).getActive());

    var secrets = new SecretsOfApplicationsApi(admin);
    var secret = secrets.rotateApplicationSecret(id, null, null, new Rotation().overlapSeconds(0)).getClientSecret();
    token = tokens.requestToken("client_credentials", id, secret, null, null, null);
    System.out.println(checks.introspectToken(token.getAccessToken(), null, null, null, null, null).getActive());

    var explanation = applications.explainApplication(id);
    System.out.println(explanation.getApplication().getName() + " " + (explanation.getSuite() == null));
    applications.removeApplication(id, null);
    System.out.println(checks.introspectToken(token.getAccessToken(), null, null, null, null, null).getActive());
  }
}
`,
}
