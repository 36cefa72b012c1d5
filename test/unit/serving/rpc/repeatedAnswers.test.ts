import t from 'tap'
import { call, createTestEndpoint, failure, result } from './testMethods.js'

t.test('a result is repeated from the second time it is asked for until the head changes', async (t) => {
  const { ask, network } = createTestEndpoint()
  const body = call('test_echo', '["x"]')
  const first = ask(body)
  t.equal(ask(body), first)
  t.equal(network.runs, 2, 'what is asked once is not kept')
  t.equal(ask(body), first)
  t.equal(network.runs, 2)
  t.equal(ask(body.replace('"id":1', '"id":1.0')), first.replace('"id":1', '"id":1.0'))
  t.equal(network.runs, 3, 'an id that needs the general reader')
  network.head.generation++
  t.equal(ask(body), first)
  t.equal(network.runs, 4)
  t.equal(ask(body), first)
  t.equal(network.runs, 4, 'it was asked for before')
})

t.test('every layout of a question is remembered, and answers with the id of the asker', async (t) => {
  const { ask, network } = createTestEndpoint()
  const layouts = [
    '{"jsonrpc":"2.0","id":ID,"method":"test_echo","params":[1]}',
    '{"jsonrpc":"2.0","method":"test_echo","params":[1],"id":ID}',
    '{"jsonrpc": "2.0", "method": "test_echo", "params": [1], "id": ID}\n',
    '{"params":[1],"method":"test_echo","id":ID,"jsonrpc":"2.0"}',
    ' {\n"method" : "test_echo" , "id":ID, "params" : [1] ,\t"jsonrpc":"2.0" }\r\n',
  ]
  for (const layout of layouts) {
    network.runs = 0
    for (const id of ['1', '2', '1000000', '"a"', '0', '-5']) {
      t.equal(ask(layout.replace('ID', id)), result('[1,null]', id))
      t.equal(ask(`[${layout.replace('ID', id)}]`), `[${result('[1,null]', id)}]`)
    }
    t.ok(network.runs <= 4, `${network.runs} runs, two alone and two in a batch`)
  }
})

t.test('a request that only looks like a remembered one is not taken for it', async (t) => {
  const { ask } = createTestEndpoint()
  ask('{"jsonrpc":"2.0","id":1,"method":"test_echo","params":[1]}')
  ask('{"jsonrpc":"2.0","method":"test_echo","params":[1],"id":1}')
  for (const id of ['01', '1.', '"', '', '1 2', '+1', '"\\x"', '1,"id":']) {
    for (const body of [
      `{"jsonrpc":"2.0","id":${id},"method":"test_echo","params":[1]}`,
      `{"jsonrpc":"2.0","method":"test_echo","params":[1],"id":${id}}`,
    ]) {
      t.equal(ask(body), failure(-32700, 'parse error', 'null'), body)
    }
  }
  t.equal(
    ask('{"jsonrpc":"2.0","id":true,"method":"test_echo","params":[1]}'),
    failure(-32600, 'invalid request: id must be a string, a number or null', 'null'),
  )
})

t.test('a null, a fault and an impure result are never repeated', async (t) => {
  const { ask, network } = createTestEndpoint()
  for (const body of [call('test_null'), call('test_null', '[true]')]) {
    network.runs = 0
    t.equal(ask(body), result('null'))
    t.equal(ask(body), result('null'))
    t.equal(network.runs, 2)
  }
  network.runs = 0
  t.equal(ask(call('test_count')), result('1'))
  t.equal(ask(call('test_count')), result('2'))
})

t.test('a full memory forgets old questions and keeps answering right', async (t) => {
  const { ask, network } = createTestEndpoint({ memoBytesMax: 16_384 })
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 100; i++) t.equal(ask(call('test_echo', `[${i}]`)), result(`[${i},null]`))
  }
  t.ok(network.runs > 100)
  network.runs = 0
  t.equal(ask(call('test_echo', '[99]')), result('[99,null]'))
  t.equal(network.runs, 0, 'what was asked last is remembered')
  t.equal(ask(call('test_bytes', '["0x1000"]')).length, ask(call('test_bytes', '["0x1000"]')).length)
  t.equal(network.runs, 2, 'an answer that would push out everything else is not kept')
})
