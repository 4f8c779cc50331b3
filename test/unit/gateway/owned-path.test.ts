/**
 * Checks that every request of the OpenAI and Anthropic SDKs that stores something at a provider
 * maps to an owner, or has a reason why not.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { ownedPathOf } from '../../../src/gateway/references/owned-path.ts';
import { canonicalTarget } from '../../../src/model/endpoints/canonical-target.ts';
import { endpointAt } from '../../../src/model/endpoints/catalogue.ts';
import { clientRequests } from '../../support/interface/client-requests.ts';

/** Requests that neither create a stored object nor name one in their path. */
const storedByNobody = new Map([
  ['POST /chat/completions', 'asks a model; what it stores or speaks is noted by its answer'],
  ['POST /messages', 'asks a model; containers and files of its code are noted by its answer'],
  ['POST /messages/count_tokens', 'counts'],
  ['POST /completions', 'asks a model'],
  ['POST /embeddings', 'asks a model'],
  ['POST /moderations', 'asks a model'],
  ['POST /decisions', 'asks a model'],
  ['POST /images/generations', 'asks a model'],
  ['POST /images/edits', 'asks a model'],
  ['POST /images/variations', 'asks a model'],
  ['POST /audio/speech', 'asks a model'],
  ['POST /audio/transcriptions', 'asks a model'],
  ['POST /audio/translations', 'asks a model'],
  ['POST /content_provenance_checks', 'looks at a file that comes along'],
  ['POST /fine_tuning/alpha/graders/run', 'asks a model'],
  ['POST /fine_tuning/alpha/graders/validate', 'looks at what comes along'],
  ['POST /realtime/client_secrets', 'is answered by the gateway'],
  ['POST /realtime/sessions', 'is answered by the gateway'],
  ['GET /models', 'tells the models of the account, which are for all who share it'],
  ['GET /models/{model}', 'tells of a model'],
  ['GET /models/{modelID}', 'tells of a model'],
]);

/** Paths about the account as a whole, which are not in the catalogue (docs/reference/stored-objects.md). */
const ofWholeAccount =
  /^\/(?:organizations?|projects|webhook_\w+|safety|realtime(?=\/(?!client_secrets$|sessions$))|live|chatkit|audio\/voice\w*|agents|environments|sessions|deployments|deployment_runs|vaults|memory_stores|dreams|tunnels|user_profiles)(?:\/|$)/;

/** Methods that send nothing, or only what other methods send. */
const helpers = [
  'stream',
  'runTools',
  'toolRunner',
  '_toolRunnerThread',
  'thread',
  'createAndRunStream',
  'createAndStream',
  'submitToolOutputsStream',
  'uploadAndPoll',
  'poller',
  'worker',
  'forResult',
  'prepare',
  'upload',
  'unwrap',
  'verifySignature',
  'parseUnverified',
];
/** These are no helpers where the client has no other name for the request. */
const sendersInSpite = new Set(['files.upload', 'beta.files.upload']);
const isHelper = (name: string): boolean =>
  helpers.includes(name.split('.').at(-1)!) && !sendersInSpite.has(name);

const clients = {
  OpenAI: (fetch: never) =>
    new OpenAI({
      apiKey: 'k',
      adminAPIKey: 'k',
      baseURL: 'http://any/v1',
      maxRetries: 0,
      fetch,
    }),
  Anthropic: (fetch: never) =>
    new Anthropic({ apiKey: 'k', baseURL: 'http://any', maxRetries: 0, fetch }),
};

const byClient = await Promise.all(
  Object.entries(clients).map(
    async ([name, open]) =>
      [name, await clientRequests((fetch) => open(fetch as never), isHelper)] as const,
  ),
);

describe.each(byClient)('all requests of the %s client', (_, requests) => {
  it('lists each request in the catalogue, except those about the whole account', () => {
    expect(requests.length).toBeGreaterThan(150);
    const surprising = requests.filter(({ name, method, path }) => {
      if (path === null) return !isHelper(name);
      const below = path.replace(/^\/v1/, '');
      const isListed = endpointAt(method, below) !== null;
      return isListed === ofWholeAccount.test(below);
    });
    expect(surprising).toEqual([]);
  });

  it('maps each listed request to an owned object or to a documented exception', () => {
    const unowned = requests.filter(({ method, path }) => {
      const below = path?.replace(/^\/v1/, '') ?? '';
      const isListed = endpointAt(method, below) !== null;
      return (
        isListed &&
        (ownedPathOf(method, below) === null) !== storedByNobody.has(`${method} ${below}`)
      );
    });
    expect(unowned).toEqual([]);
  });

  it('finds the id of the owned object in each path, and never mistakes a path word for it', () => {
    for (const { name, method, path } of requests) {
      const owned = path === null ? null : ownedPathOf(method, path.replace(/^\/v1/, ''));
      const [first] = path?.match(/\{[^}]*\}/) ?? [null];
      if (owned !== null) expect([name, owned.id]).toEqual([name, first]);
    }
  });
});

describe('a path of a model with a slash in its id', () => {
  it('leads to no owned object, encoded or not, and keeps its spelling', () => {
    for (const id of ['org/name', 'files/file-1', 'responses/resp_1', 'organization/users']) {
      for (const written of [id, encodeURIComponent(id)]) {
        const path = `/models/${written}`;
        expect(canonicalTarget('GET', path, '')).toEqual({ path, query: '' });
        expect(endpointAt('GET', path)?.path).toBe('/models/{model+}');
        expect(ownedPathOf('GET', path)).toBeNull();
      }
    }
  });
});
