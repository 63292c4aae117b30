import { type Description, type DocumentedResponse, operationsOf } from '../../../lab/reference/description.ts'
import { problems } from './schemas.ts'

/** Examples of bodies, headers and parameters that do not match their schemas. */
export function wrongExamples(description: Description): string[] {
  return operationsOf(description).flatMap(({ operationId, parameters, requestBody, responses }) => {
    const described: DocumentedResponse[] = [...Object.values(responses), ...(requestBody ? [requestBody] : [])]
    const bodies = described.flatMap(({ content = {} }) =>
      Object.values(content).map(({ schema, examples }) => ({ schema, examples, example: undefined })),
    )
    const headers = described.flatMap(({ headers = {} }) => Object.values(headers))
    return [...bodies, ...headers, ...parameters.map((one) => ({ ...one, examples: undefined }))].flatMap(
      ({ schema, example, examples = {} }) => {
        const values = example === undefined ? Object.values(examples).map(({ value }) => value) : [example]
        return values.flatMap((value) =>
          problems(schema, value).map((problem) => `${operationId} ${JSON.stringify(value)}: ${problem}`),
        )
      },
    )
  })
}

/** Schema fields without a description. */
export function unexplainedFields({ components }: Description): string[] {
  return Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([, { description }]) => !description)
      .map(([field]) => `${name}.${field}`),
  )
}
