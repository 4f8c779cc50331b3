/** Defines Anthropic's wire format: credential and version headers. */
import type { Dialect } from './dialect.ts';

export const anthropic: Dialect = {
  credentialHeaders: (credential) => ({ 'x-api-key': credential }),
  accountHeaders: ({ anthropic_beta: beta, anthropic_version: version }) => ({
    ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
    ...(version === undefined ? {} : { 'anthropic-version': version }),
  }),
  passedHeaders: ['anthropic-beta', 'anthropic-version'],
  usualHeaders: { 'anthropic-version': '2023-06-01' },
  pathOf: ({ path }) => path,
};
