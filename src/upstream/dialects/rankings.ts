/** Defines the wire formats of services for rankings whose chats and embeddings have the format of OpenAI. */
import { type Dialect, type DialectRequest, type MemberChanges, splitQuery } from './dialect.ts';
import { openAi } from './openai.ts';

/** Cohere's face for clients of OpenAI. */
const cohereFace = '/compatibility/v1';
const cohereFaced = ['/chat/completions', '/embeddings'];
/** Paths of version 2; all others exist in version 1 only. */
const cohereNewer = ['/rerank', '/embed', '/chat'];

export const cohere: Dialect = {
  ...openAi,
  pathOf: ({ path: whole }) => {
    const [path] = splitQuery(whole);
    if (cohereFaced.includes(path)) return cohereFace + whole;
    return `${cohereNewer.includes(path) ? '/v2' : '/v1'}${whole}`;
  },
  changesOf: (request) => {
    const [path] = splitQuery(request.path);
    if (path === '/rerank') return without(request, 'return_documents');
    return cohereFaced.includes(path) ? without(request, 'stream_options') : null;
  },
};

/** Voyage bounds a ranking by `top_k`, where others have `top_n`. */
export const voyage: Dialect = {
  ...openAi,
  changesOf: ({ path, params }): MemberChanges | null => {
    if (splitQuery(path)[0] !== '/rerank' || params.top_n === undefined) return null;
    return new Map([
      ['top_n', undefined],
      ['top_k', params.top_k ?? params.top_n],
    ]);
  },
};

function without({ params }: DialectRequest, name: string): MemberChanges | null {
  return params[name] === undefined ? null : new Map([[name, undefined]]);
}
