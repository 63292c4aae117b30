/** A generator of clients, and a program with those of both APIs. */
export interface Generator {
  /** The programs that it and the client take. */
  tools: string[]
  /** Installs it, in the folder of the test. */
  install: string
  /** Makes a client from a description, in a folder of this name and in a package of the same name. */
  generate: (description: string, name: string) => string
  /** The name of the program's file, and what it consists of. It prints what EXPECTED in the test has. */
  file: string
  program: string
  /** Builds the program with both clients and runs it. */
  run: string
}

const OPENAPI_GENERATOR = 'openapi-generator-cli==7.26.0'

export const OPENAPI_PYTHON_CLIENT = 'openapi-python-client==0.29.1'

export const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'

/** What its clients import. */
export const OAPI_RUNTIME = 'github.com/oapi-codegen/runtime@v1.8.0'

/** Installs a generator from PyPI. */
export const fromPyPI = (generator: string) => `python3 -m venv . && bin/pip install --quiet ${generator}`

/** The generator of https://openapi-generator.tech for a language, with its options. It is written in Java. */
export const openapiGenerator = (language: string, options = '') => ({
  tools: ['python3', 'java'],
  install: fromPyPI(OPENAPI_GENERATOR),
  generate: (description: string, name: string) =>
    `bin/openapi-generator-cli generate -i ${description} -o ${name} -g ${language} --package-name ${name} ${options}`,
})
