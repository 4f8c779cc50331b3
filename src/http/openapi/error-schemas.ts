/** Defines the bodies of errors in the OpenAPI document. */
import type { ErrorForm } from '../routes/route.ts';
import type { OpenApiJson } from './json-schema.ts';

function textFields(descriptions: Readonly<Record<string, string>>): OpenApiJson {
  const properties = Object.entries(descriptions).map(([name, description]) => [
    name,
    { type: 'string', description },
  ]);
  return {
    type: 'object',
    required: Object.keys(descriptions),
    properties: Object.fromEntries(properties) as OpenApiJson,
  };
}

const flatError = textFields({
  code: 'Published identifier of the error.',
  message: 'What is wrong, and where. Never contains a secret.',
  param: 'JSON path or header at fault; empty for none.',
  type: 'Published class of the error.',
});

const scimError: OpenApiJson = {
  type: 'object',
  required: ['schemas', 'status', 'detail'],
  properties: {
    schemas: { type: 'array', items: { type: 'string' }, description: 'URN of SCIM errors.' },
    status: { type: 'string', description: 'HTTP status as text.' },
    scimType: { type: 'string', description: 'Error type of RFC 7644, section 3.12.' },
    detail: { type: 'string', description: 'What is wrong, and where.' },
  },
};

const wrappedError: OpenApiJson = {
  type: 'object',
  required: ['success', 'status_code', 'error', 'data'],
  properties: {
    success: { const: false, description: 'Always false.' },
    status_code: { type: 'integer', minimum: 400, maximum: 599, description: 'HTTP status.' },
    error: { $ref: '#/components/schemas/FlatError' },
    data: {
      ...textFields({ message: 'As in `error`.', errorCode: '`code` of `error`.' }),
      description: 'Repeats the error for clients that read the older shape.',
    },
  },
};

const inferenceError: OpenApiJson = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type'],
      properties: {
        message: { type: 'string', description: 'What is wrong.' },
        type: { type: 'string', description: 'Class of the error.' },
        param: { type: ['string', 'null'], description: 'What is at fault; null for nothing.' },
        code: { type: ['string', 'null'], description: 'Identifier of the error.' },
      },
    },
  },
};

/** By name in the components of the document. */
export const errorSchemas: Readonly<Record<string, OpenApiJson>> = {
  Error: wrappedError,
  FlatError: flatError,
  OAuthError: textFields({
    error: 'Code of RFC 6749, section 5.2.',
    error_description: 'What is wrong.',
  }),
  ScimError: scimError,
  InferenceError: inferenceError,
};

const names: Readonly<Record<ErrorForm, string>> = {
  flat: 'FlatError',
  oauth: 'OAuthError',
  scim: 'ScimError',
  wrapped: 'Error',
};

export function errorReference(form: ErrorForm | 'inference'): OpenApiJson {
  const name = form === 'inference' ? 'InferenceError' : names[form];
  return { $ref: `#/components/schemas/${name}` };
}
