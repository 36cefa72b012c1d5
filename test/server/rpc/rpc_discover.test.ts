import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import t from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../src/serving/rpc/rollup/rollupRegistry.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

/** The types of the package describe a document, and not its schema. */
const { openrpcDocument } = createRequire(import.meta.url)('@open-rpc/meta-schema')
const method = 'rpc_discover'
const service = await startService()
t.teardown(() => service.stop())

t.test('the document is what OpenRPC asks for, and lists every method', async (t) => {
  const { result } = await service.call(method)
  // The document refers to another address for JSON Schemas; the package has draft 7.
  const text = JSON.stringify(openrpcDocument)
  const draft = 'http://json-schema.org/draft-07/schema'
  const metaSchema = JSON.parse(
    text
      .replaceAll('https://meta.json-schema.tools', draft)
      .replaceAll(`{"$ref":{"$ref":"${draft}`, `{"$ref":{"type":"string","title":"${draft}`),
  )
  const ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false })
  t.ok(ajv.validate(metaSchema, result), JSON.stringify(ajv.errors))
  t.notOk(ajv.validate(metaSchema, { ...result, methods: [{ name: 1 }] }))
  t.strictSame(
    result.methods.map(({ name }: { name: string }) => name),
    [...Object.keys(methods), ...Object.keys(rollupMethods)],
  )
  for (const { name, summary, params } of result.methods) {
    t.match(summary, /^[A-Z].*[^.]$/, name)
    t.equal(new Set(params.map((param: { name: string }) => param.name)).size, params.length, name)
    for (const { schema } of params) {
      t.doesNotThrow(() => ajv.compile(schema), name)
      // The parameters of these methods depend on each other.
      if (!/_(?:un)?subscribe$/.test(name)) t.ok(Object.keys(schema).length > 0, name)
    }
  }
})

t.test('GET /openrpc.json is the same document, for everybody', async (t) => {
  const response = await fetch(`${service.origin}/openrpc.json`)
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'application/json')
  const { 'x-basis': basis, ...document } = (await service.call(method)).result
  t.strictSame(await response.json(), document)
  t.match(basis, { headers: 'executed', calls: 'executed' }, 'of the network that is asked')
  const { status } = await service.post('/openrpc.json', '{}')
  t.equal(status, 405)
})

t.test('it takes no parameters', async (t) => {
  await checkRefusals(t, service, method, countRefusals([]))
})
