/** Decides whether a provider of a workspace lets a request use the models that it names. */
import { endpointAt, meteringAt, modelInPath } from '../../model/endpoints/catalogue.ts';
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import {
  findModels,
  isSameModel,
  type NamedModel,
  namedModel,
  plainModelName,
} from '../../model/providers/model-rules.ts';
import type { Slices } from '../../slices.ts';
import type { TargetRequest } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Params } from '../transfer/read-body.ts';
import type { GatewayModel, GatewayProvider } from './gateway-provider.ts';

/** The request as it is sent to the provider. */
interface SentRequest {
  readonly model: string | null;
  readonly body: Buffer | null;
  readonly params: Params;
}

/**
 * Returns the settings of the requested model; undefined for none. When some models are forbidden, a model request
 * without a model could use any of them, so it is rejected.
 *
 * @throws GatewayError for a forbidden model
 */
export function* requireModel(
  provider: GatewayProvider,
  { request, path, isJson }: Pick<TargetRequest, 'request' | 'path' | 'isJson'>,
  { model, body, params }: SentRequest,
): Slices<GatewayModel | undefined> {
  const setting = model === null ? undefined : settingOf(provider, model);
  if (provider.allowsAnyModel) return setting;
  const { method } = request;
  const endpoint = endpointAt(method, path);
  const inPath = endpoint === null || method === 'GET' ? null : modelInPath(endpoint, path);
  yield;
  const inBody = yield* findModels(params, modelsMax + 1);
  yield;
  if (inBody.length > modelsMax) throw tooManyModels();
  const named = inPath === null ? inBody : [namedModel(inPath), ...inBody];
  const all = model === null ? named : [namedModel(model), ...named];
  const { slug } = provider;
  if (all.length === 0 && meteringAt(method, path, params) !== 'nothing') {
    const message = `The provider @${slug} allows only some models, and the request names none`;
    throw new GatewayError('model_not_allowed', message, 'model');
  }
  const refused = all.find((one) => !isAllowed(provider, one));
  if (refused !== undefined) {
    const message = `The provider @${slug} does not let this model be used`;
    throw new GatewayError('model_not_allowed', message, 'model');
  }
  if (named.length > 0 && isJson && body !== null && (yield* findDuplicateKeys(body))) {
    const message = 'The JSON body contains a duplicate member in one of its objects';
    throw new GatewayError('invalid_json', message);
  }
  return setting;
}

/** Whether requests may name the model. */
export function isModelAllowed(provider: GatewayProvider, name: string): boolean {
  return provider.allowsAnyModel || isAllowed(provider, namedModel(name));
}

/** Requests name a handful of models; each is compared with all rules. */
const modelsMax = 1_000;

function tooManyModels(): GatewayError {
  const message = `The request names more than ${modelsMax} models`;
  return new GatewayError('model_not_allowed', message, 'model');
}

function settingOf({ models }: GatewayProvider, name: string): GatewayModel | undefined {
  return models.get(name) ?? models.get(plainModelName(name));
}

/** Permits by exact or plain name only, and forbids whatever the provider could take for a disabled model. */
function isAllowed(provider: GatewayProvider, { name, isOpaque, isMention }: NamedModel): boolean {
  const { models, allowsAllModels } = provider;
  const setting = settingOf(provider, name) ?? spelledAlike(provider, name);
  if (setting !== undefined) return setting.isEnabled;
  if (isOpaque || !(allowsAllModels || isMention)) return false;
  return ![...models].some(([slug, { isEnabled }]) => !isEnabled && isSameModel(slug, name));
}

function spelledAlike({ models }: GatewayProvider, name: string): GatewayModel | undefined {
  const plain = plainModelName(name);
  return [...models].find(([slug]) => plainModelName(slug) === plain)?.[1];
}
