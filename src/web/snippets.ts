import type { Client } from './curl.ts'

// Programs that get a token, for developers. They read the secret from the environment, and print the server's answer.

type Request = Pick<Client, 'clientId'> & { url: string }

/** A text of printable ASCII in double quotes, as in all of these languages but PHP. */
const text = JSON.stringify

const SNIPPETS: Readonly<Record<string, (request: Request) => string>> = {
  Python: ({ url, clientId }) => `import os
from urllib.parse import urlencode
from urllib.request import urlopen

form = {
    "grant_type": "client_credentials",
    "client_id": ${text(clientId)},
    "client_secret": os.environ["CLIENT_SECRET"],
}
with urlopen(${text(url)}, urlencode(form).encode()) as answer:
    print(answer.read().decode())`,

  JavaScript: ({ url, clientId }) => `const form = new URLSearchParams({
  grant_type: "client_credentials",
  client_id: ${text(clientId)},
  client_secret: process.env.CLIENT_SECRET,
})
const answer = await fetch(${text(url)}, { method: "POST", body: form })
console.log(await answer.text())`,

  Java: ({ url, clientId }) => `import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class GetToken {
  public static void main(String[] args) throws Exception {
    var form = "grant_type=client_credentials"
        + "&client_id=" + URLEncoder.encode(${text(clientId)}, UTF_8)
        + "&client_secret=" + URLEncoder.encode(System.getenv("CLIENT_SECRET"), UTF_8);
    var request = HttpRequest.newBuilder(URI.create(${text(url)}))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .POST(HttpRequest.BodyPublishers.ofString(form))
        .build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(answer.body());
  }
}`,

  'C#': ({ url, clientId }) => `using System;
using System.Collections.Generic;
using System.Net.Http;

class GetToken
{
    static void Main()
    {
        var form = new FormUrlEncodedContent(new Dictionary<string, string>
        {
            ["grant_type"] = "client_credentials",
            ["client_id"] = ${text(clientId)},
            ["client_secret"] = Environment.GetEnvironmentVariable("CLIENT_SECRET"),
        });
        var answer = new HttpClient().PostAsync(${text(url)}, form).Result;
        Console.WriteLine(answer.Content.ReadAsStringAsync().Result);
    }
}`,

  Go: ({ url, clientId }) => `package main

import (
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
)

func main() {
	answer, err := http.PostForm(${text(url)}, url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {${text(clientId)}},
		"client_secret": {os.Getenv("CLIENT_SECRET")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	io.Copy(os.Stdout, answer.Body)
}`,

  PHP: ({ url, clientId }) => `<?php
$form = http_build_query([
    'grant_type' => 'client_credentials',
    'client_id' => ${inSingleQuotes(clientId)},
    'client_secret' => getenv('CLIENT_SECRET'),
]);
$post = ['method' => 'POST', 'header' => 'Content-Type: application/x-www-form-urlencoded', 'content' => $form];
echo file_get_contents(${inSingleQuotes(url)}, false, stream_context_create(['http' => $post]));`,
}

/** For each language, its name and a program that asks the token endpoint at `url` for a token. */
export function snippets(request: Request): { language: string; program: string }[] {
  return Object.entries(SNIPPETS).map(([language, write]) => ({ language, program: write(request) }))
}

function inSingleQuotes(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
