/** Defines what the catalogue states about one endpoint of the providers. */
import type { Capability } from '../services/capabilities.ts';
import type { MeteringName } from './metering.ts';
import type { ObjectKind } from './object-kind.ts';
import { queryMembersOf } from './query-members.ts';

/** How the texts of a request or response are found; `unknown` for a format without known members. */
export type TextsForm =
  | 'chat_completions'
  | 'completions'
  | 'embeddings'
  | 'messages'
  | 'responses'
  | 'gemini'
  | 'converse'
  | 'stored'
  | 'unknown';

/** A kind of objects that belong to the caller who created them, and its paths. */
export interface OwnedKind {
  readonly kind: ObjectKind;
  /** Path that creates and lists them. */
  readonly base: string;
  /** Capability of an integration that says who stores them; null when it is always the provider. */
  readonly capability: Capability | null;
  /** Services that store them whatever the capability says; none by default. */
  readonly servicesWithOwn?: readonly string[];
  /** Paths behind the base or an id, joined by `/`, whose POST creates another object of the kind. */
  readonly makers: readonly string[];
}

export interface ListedEndpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below `/v1`, or the whole path of Gemini and Bedrock; `{id}` and `{model}` stand for one segment, `{model+}` for the rest. */
  readonly path: string;
  /** Canonical path of the endpoint as which its requests are served; null for its own. */
  readonly servedAs: string | null;
  /** Name in logs, metrics and policies. */
  readonly name: string;
  readonly metering: MeteringName;
  /** Members with which alone the request calls no model; null when it always is what `metering` says. */
  readonly storedMembers: readonly string[] | null;
  /** Which bodies are accepted: JSON alone, or also forms. */
  readonly body: 'json' | 'form';
  readonly requestTexts: TextsForm | null;
  readonly responseTexts: TextsForm | null;
  /** Members that name stored objects, in lower case. */
  readonly references: readonly string[];
  /** Members of the query, beside those of every endpoint. */
  readonly query: readonly string[];
  /** Null for an endpoint whose path leads to no objects of callers. */
  readonly owned: OwnedKind | null;
}

export type EndpointFacts = Partial<Omit<ListedEndpoint, 'method' | 'path' | 'query'>>;

/** Builds an endpoint from its method and path, such as `POST /embeddings`; it calls no model by default. */
export function endpoint(request: string, facts: EndpointFacts = {}): ListedEndpoint {
  const [method, path] = request.split(' ') as [ListedEndpoint['method'], string];
  return {
    method,
    path,
    servedAs: null,
    name: 'other',
    metering: 'nothing',
    storedMembers: null,
    body: 'json',
    requestTexts: null,
    responseTexts: null,
    references: [],
    query: queryMembersOf(request),
    owned: null,
    ...facts,
  };
}
