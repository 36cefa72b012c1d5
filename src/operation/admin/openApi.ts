import * as z from 'zod'
import { type Route, routes } from './routes.js'
import { auditEntry, key, liveState, network, problem, usage } from './shapes.js'

/** Schemas with a name in the document. */
const named = {
  LiveState: liveState,
  Network: network,
  Key: key,
  Usage: usage,
  AuditEntry: auditEntry,
  Problem: problem,
} as const

export function buildOpenApi(version: string): object {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidegate admin API',
      version,
      description:
        'For operators, on the admin listener. Times are ISO 8601 in UTC; durations are in seconds, amounts of data in bytes.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'from node/admin-token in the data folder' },
      },
      schemas: Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, jsonSchema(schema)])),
    },
  }
}

function operation({ path, summary, query, body, answer, isStream, status }: Route): object {
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }))
  const inPath = path.includes('{id}')
    ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]
    : []
  const content = (type: string, schema: object) => ({ [type]: { schema } })
  return {
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body && {
      requestBody: { required: true, content: content('application/json', jsonSchema(body, 'input')) },
    }),
    responses: {
      [status]: {
        description: isStream ? 'events without end; their data is described here' : 'done',
        content: content(isStream ? 'text/event-stream' : 'application/json', answerSchema(answer)),
      },
      default: { description: 'refused', content: content('application/json', reference('Problem')) },
    },
  }
}

function answerSchema(answer: z.ZodType): object {
  if (answer instanceof z.ZodArray) {
    return { type: 'array', items: answerSchema(answer.element as z.ZodType) }
  }
  const name = Object.entries(named).find(([, schema]) => schema === answer)?.[0]
  return name === undefined ? jsonSchema(answer) : reference(name)
}

function reference(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io }) as Record<string, unknown>
  return rest
}
