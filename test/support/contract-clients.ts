/** A client of the contract, as partners have written them: it reads its secret from a file and prints a token. */
export interface ClientProgram {
  file: string
  text: string
  /** Run once, in the folder of the file. */
  build?: string[]
  command: string[]
}

// Each reads AUTH_URL, CLIENT_ID and SECRET_FILE from the environment.
export const CLIENTS: Record<string, ClientProgram> = {
  Python: {
    file: 'client.py',
    command: ['python3', 'client.py'],
    text: `
import json, os, urllib.parse, urllib.request
secret = open(os.environ["SECRET_FILE"]).read().strip()
form = {"grant_type": "client_credentials", "client_id": os.environ["CLIENT_ID"], "client_secret": secret}
url = os.environ["AUTH_URL"] + "/v1/oauth/accesstoken"
with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode()) as answer:
    token = json.load(answer)
assert token["token_type"] == "bearer"
print(token["access_token"])
`,
  },
  Go: {
    file: 'client.go',
    build: ['go', 'build', '-o', 'client', 'client.go'],
    command: ['./client'],
    text: `package main

import ("encoding/json"; "fmt"; "net/http"; "net/url"; "os"; "strings")

func main() {
	secret, err := os.ReadFile(os.Getenv("SECRET_FILE"))
	if err != nil { panic(err) }
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {os.Getenv("CLIENT_ID")}, "client_secret": {strings.TrimSpace(string(secret))}}
	answer, err := http.PostForm(os.Getenv("AUTH_URL")+"/v1/oauth/accesstoken", form)
	if err != nil { panic(err) }
	var token struct { AccessToken string \`json:"access_token"\` }
	if answer.StatusCode != 200 || json.NewDecoder(answer.Body).Decode(&token) != nil { panic(answer.Status) }
	fmt.Println(token.AccessToken)
}
`,
  },
  Java: {
    file: 'Client.java',
    build: ['javac', 'Client.java'],
    command: ['java', 'Client'],
    text: `import java.net.*; import java.net.http.*; import java.nio.file.*;
class Client {
  static String env(String name) { return System.getenv(name); }
  public static void main(String[] arguments) throws Exception {
    var secret = Files.readString(Path.of(env("SECRET_FILE"))).strip();
    var form = "grant_type=client_credentials&client_id=" + env("CLIENT_ID") + "&client_secret=" + secret;
    var request = HttpRequest.newBuilder(URI.create(env("AUTH_URL") + "/v1/oauth/accesstoken"))
        .header("Content-Type", "application/x-www-form-urlencoded").POST(HttpRequest.BodyPublishers.ofString(form)).build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new Exception(answer.body());
    System.out.println(answer.body().split("\\"access_token\\":\\"")[1].split("\\"")[0]);
  }
}
`,
  },
  shell: {
    file: 'client.sh',
    command: ['sh', 'client.sh'],
    text: `set -eu
printf 'grant_type=client_credentials&client_id=%s&client_secret=%s' "$CLIENT_ID" "$(cat "$SECRET_FILE")" |
  curl --silent --fail --data @- "$AUTH_URL/v1/oauth/accesstoken" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'
`,
  },
}
