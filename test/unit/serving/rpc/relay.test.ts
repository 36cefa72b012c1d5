import t from 'tap'
import { MethodScope } from '../../../../src/serving/access/keyScope.js'
import { Failure } from '../../../../src/serving/rpc/answers/outcome.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { createRelay, passOn } from '../../../../src/serving/rpc/dispatch/relay.js'
import { RpcRequest } from '../../../../src/serving/rpc/dispatch/rpcRequest.js'
import { TestNetwork } from './testMethods.js'

t.test('a call outside the scope of its key is not passed on', async (t) => {
  const asked: string[] = []
  const relay = createRelay(['bor_*'], {
    relay: async (method: string) => {
      asked.push(method)
      return '1'
    },
  } as never)
  const methods = new MethodScope(['eth_*', 'bor_getAuthor'])
  const ask = (method: string) =>
    passOn(
      relay,
      {
        kind: 'call',
        id: '1',
        method,
        params: [],
        at: undefined,
        question: undefined,
        text: undefined,
      } as never,
      new RpcRequest(
        new TestNetwork(),
        new RequestContext(undefined, { key: { id: '0123456789ab' }, methods }),
        undefined,
      ),
    )
  t.equal(await ask('bor_getAuthor'), '1')
  const refused = ask('bor_getSigners')
  t.ok(refused instanceof Failure)
  t.match(refused, {
    error: { code: -32004, message: 'method bor_getSigners is not allowed for this API key' },
  })
  t.strictSame(asked, ['bor_getAuthor'])
})
