import { type Generator, OAPI_CODEGEN, OAPI_RUNTIME, openapiGenerator } from './generator.ts'

const generated = openapiGenerator('go', '--additional-properties withGoMod=false')

export const go: Generator = {
  ...generated,
  tools: [...generated.tools, 'go'],
  file: 'main.go',
  run: 'go mod init clients >&2 && go run .',
  program: `package main
import ("clients/admin_api"; "clients/public_api"; "context"; "fmt"; "net/http"; "os")

func must[T any](answer T, _ *http.Response, err error) T {
  if err != nil { panic(err) }
  return answer
}

func main() {
  configuration := admin_api.NewConfiguration()
  configuration.Servers[0].URL = os.Getenv("ADMIN")
  admin := admin_api.NewAPIClient(configuration)
  operator := context.WithValue(context.Background(), admin_api.ContextAccessToken, os.Getenv("ADMIN_KEY"))
  store := *admin_api.NewSuiteRegistration("store", "Store API")
  suite := must(admin.SuitesAPI.RegisterSuite(operator).SuiteRegistration(store).Execute())
  var application *admin_api.RegisteredApplication
  for _, name := range []string{"One", "Two", "Three"} {
    registration := admin_api.NewRegistration(name, "a@b.example")
    registration.SetSuites([]string{"store"})
    application = must(admin.ApplicationsAPI.RegisterApplication(operator).Registration(*registration).Execute())
  }

  list := admin.ApplicationsAPI.ListApplications(operator).Limit(2)
  for {
    page := must(list.Execute())
    names := []any{}
    for _, application := range page.Applications { names = append(names, application.Name) }
    fmt.Println(names...)
    next := page.Next.Get()
    if next == nil { break }
    list = list.After(*next)
  }

  public := public_api.NewConfiguration()
  public.Servers[0].URL = os.Getenv("PUBLIC")
  client := public_api.NewAPIClient(public)
  basic := public_api.BasicAuth{UserName: suite.Id, Password: suite.ClientSecret}
  bySuite := context.WithValue(context.Background(), public_api.ContextBasicAuth, basic)
  id := application.ClientId
  request := func(secret string) string {
    request := client.TokensAPI.RequestToken(context.Background()).GrantType("client_credentials")
    return must(request.ClientId(id).ClientSecret(secret).Execute()).AccessToken
  }
  isActive := func(token string) bool {
    return must(client.ChecksAPI.IntrospectToken(bySuite).Token(token).Execute()).Active
  }
  fmt.Println(isActive(request(application.ClientSecret)))

  rotation := admin_api.NewRotation()
  rotation.SetOverlapSeconds(0)
  rotate := admin.SecretsOfApplicationsAPI.RotateApplicationSecret(operator, id).Rotation(*rotation)
  token := request(must(rotate.Execute()).ClientSecret)
  fmt.Println(isActive(token))

  explanation := must(admin.ApplicationsAPI.ExplainApplication(operator, id).Execute())
  fmt.Println(explanation.Application.Get().Name, explanation.Suite.Get() == nil)
  if _, err := admin.ApplicationsAPI.RemoveApplication(operator, id).Execute(); err != nil { panic(err) }
  fmt.Println(isActive(token))
}
`,
}

export const oapiCodegen: Generator = {
  tools: ['go'],
  install: `go mod init clients && go get ${OAPI_RUNTIME}`,
  generate: (description, name) =>
    `mkdir ${name} && go run ${OAPI_CODEGEN} -generate types,client -package ${name} -o ${name}/client.go ${description}`,
  file: 'main.go',
  run: 'go run .',
  program: `package main
import ("clients/admin_api"; "clients/public_api"; "context"; "fmt"; "net/http"; "os")

func must[T any](value T, err error) T {
  if err != nil { panic(err) }
  return value
}

func main() {
  operator := func(_ context.Context, request *http.Request) error {
    request.Header.Set("Authorization", "Bearer " + os.Getenv("ADMIN_KEY"))
    return nil
  }
  ctx := context.Background()
  admin := must(admin_api.NewClientWithResponses(os.Getenv("ADMIN"), admin_api.WithRequestEditorFn(operator)))
  store := admin_api.SuiteRegistration{Id: "store", Name: "Store API"}
  suite := must(admin.RegisterSuiteWithResponse(ctx, nil, store)).JSON201
  var application *admin_api.RegisteredApplication
  for _, name := range []string{"One", "Two", "Three"} {
    registration := admin_api.Registration{Name: name, DeveloperEmail: "a@b.example", Suites: []string{"store"}}
    application = must(admin.RegisterApplicationWithResponse(ctx, nil, registration)).JSON201
  }

  limit := 2
  list := admin_api.ListApplicationsParams{Limit: &limit}
  for {
    page := must(admin.ListApplicationsWithResponse(ctx, &list)).JSON200
    names := []any{}
    for _, application := range page.Applications { names = append(names, application.Name) }
    fmt.Println(names...)
    if page.Next == nil { break }
    list.After = page.Next
  }

  client := must(public_api.NewClientWithResponses(os.Getenv("PUBLIC")))
  bySuite := func(_ context.Context, request *http.Request) error {
    request.SetBasicAuth(suite.Id, suite.ClientSecret)
    return nil
  }
  id := application.ClientId
  request := func(secret string) string {
    request := public_api.TokenRequest{GrantType: "client_credentials", ClientId: id, ClientSecret: secret}
    return must(client.RequestTokenWithFormdataBodyWithResponse(ctx, nil, request)).JSON200.AccessToken
  }
  isActive := func(token string) bool {
    request := public_api.IntrospectionRequest{Token: token}
    return must(client.IntrospectTokenWithFormdataBodyWithResponse(ctx, nil, request, bySuite)).JSON200.Active
  }
  fmt.Println(isActive(request(application.ClientSecret)))

  overlap := 0
  rotation := admin_api.Rotation{OverlapSeconds: &overlap}
  token := request(must(admin.RotateApplicationSecretWithResponse(ctx, id, nil, rotation)).JSON201.ClientSecret)
  fmt.Println(isActive(token))

  explanation := must(admin.ExplainApplicationWithResponse(ctx, id)).JSON200
  fmt.Println(explanation.Application.Name, explanation.Suite == nil)
  must(admin.RemoveApplicationWithResponse(ctx, id, nil))
  fmt.Println(isActive(token))
}
`,
}
