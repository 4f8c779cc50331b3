/** Defines the wire formats of Google Vertex AI: models below their publisher, and OpenAI's chat. */
import { predictPath } from '../../model/services/retrieval-paths.ts';
import { anthropic } from './anthropic.ts';
import {
  type Dialect,
  type DialectRequest,
  type MemberChanges,
  NotServed,
  splitQuery,
} from './dialect.ts';
import { gemini } from './gemini.ts';

const anthropicVersion = 'vertex-2023-10-16';

const credentialHeaders = (credential: string): Record<string, string> => ({
  authorization: `Bearer ${credential}`,
});

/** Vertex has one path for chats; `google/` names the publisher of its own models. */
export const vertexOpenAi: Dialect = {
  credentialHeaders,
  accountHeaders: () => ({}),
  passedHeaders: [],
  usualHeaders: {},
  pathOf: (request) => {
    const [path, query] = splitQuery(request.path);
    if (path === '/chat/completions') {
      return `${locationOf(request)}/endpoints/openapi${path}${query}`;
    }
    throw new NotServed(`Vertex AI serves chats and messages, not ${path}`);
  },
  changesOf: ({ model }) =>
    model === null || model.includes('/') ? null : new Map([['model', `google/${model}`]]),
};

/** The model is in the path, the version in the body. */
export const vertexAnthropic: Dialect = {
  ...anthropic,
  credentialHeaders,
  accountHeaders: ({ anthropic_beta: beta }): Record<string, string> =>
    beta === undefined ? {} : { 'anthropic-beta': beta },
  passedHeaders: ['anthropic-beta'],
  usualHeaders: {},
  pathOf: (request) => {
    const [path] = splitQuery(request.path);
    const models = `${locationOf(request)}/publishers/anthropic/models`;
    if (path === '/messages/count_tokens') return `${models}/count-tokens:rawPredict`;
    if (path !== '/messages')
      throw new NotServed(`Vertex AI serves messages of Claude, not ${path}`);
    const model = encodeURIComponent(claudeName(request.model ?? '').toWellFormed());
    return `${models}/${model}:${request.params.stream === true ? 'streamRawPredict' : 'rawPredict'}`;
  },
  changesOf: ({ path, model }): MemberChanges => {
    const isCount = splitQuery(path)[0] === '/messages/count_tokens';
    return new Map([
      ['model', isCount && model !== null ? claudeName(model) : undefined],
      ['anthropic_version', anthropicVersion],
    ]);
  },
};

/** Gemini's own form. */
export const vertexGemini: Dialect = {
  ...gemini,
  credentialHeaders,
  passedHeaders: [],
  pathOf: (request) => {
    if (request.path.startsWith('/v1beta/interactions')) {
      throw new NotServed('Vertex AI serves no interactions');
    }
    if (request.path === predictPath && !/embed/i.test(request.model ?? '')) {
      throw new NotServed('Vertex AI serves predict for models that embed texts');
    }
    const model = request.model?.replace(/^(?:publishers\/)?google\/(?:models\/)?/, '') ?? null;
    return `${locationOf(request)}/publishers/google${gemini.pathOf({ ...request, model })}`;
  },
};

/** A publisher before the name is part of the path already. */
function claudeName(model: string): string {
  return model.replace(/^anthropic\//, '');
}

/** Path of a project and a location, which the host repeats. */
function locationOf({ account }: DialectRequest): string {
  const { vertex_project_id: project, vertex_region: region = 'global' } = account;
  if (project === undefined) {
    throw new NotServed('Vertex AI needs vertex_project_id', 'vertex_project_id');
  }
  if (!/^[a-z0-9][a-z0-9.:-]{0,99}$/i.test(project)) {
    throw new NotServed('vertex_project_id is not the id of a project', 'vertex_project_id');
  }
  return `/projects/${project}/locations/${encodeURIComponent(region.toWellFormed())}`;
}
