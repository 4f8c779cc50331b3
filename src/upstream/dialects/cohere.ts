/** Defines the wire format of Cohere, whose chats and embeddings have the format of OpenAI. */
import { cohereEmbedPath } from '../../model/services/retrieval-paths.ts';
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
    if (path === cohereEmbedPath) return whole;
    return `${cohereNewer.includes(path) ? '/v2' : '/v1'}${whole}`;
  },
  changesOf: (request) => {
    const [path] = splitQuery(request.path);
    return cohereFaced.includes(path) ? without(request, 'stream_options') : null;
  },
};

function without({ params }: DialectRequest, name: string): MemberChanges | null {
  return params[name] === undefined ? null : new Map([[name, undefined]]);
}
