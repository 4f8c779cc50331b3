/** Defines OpenAI's wire format: credential and account headers. */
import type { Dialect } from './dialect.ts';

export const openAi: Dialect = {
  credentialHeaders: (credential) => ({ authorization: `Bearer ${credential}` }),
  accountHeaders: ({ openai_organization: organization, openai_project: project }) => ({
    ...(organization === undefined ? {} : { 'openai-organization': organization }),
    ...(project === undefined ? {} : { 'openai-project': project }),
  }),
  passedHeaders: ['openai-beta'],
  passedWithOwnAccount: ['openai-organization', 'openai-project'],
  usualHeaders: {},
  pathOf: ({ path }) => path,
};
