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

const geminiError: OpenApiJson = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'status'],
      properties: {
        code: { type: 'integer', minimum: 400, maximum: 599, description: 'HTTP status.' },
        message: { type: 'string', description: 'What is wrong.' },
        status: { type: 'string', description: 'Name of the status, such as INVALID_ARGUMENT.' },
        details: {
          type: 'array',
          items: { type: 'object' },
          description: "The gateway's reason as `google.rpc.ErrorInfo`.",
        },
      },
    },
  },
};

const awsError: OpenApiJson = {
  type: 'object',
  required: ['message'],
  properties: {
    __type: { type: 'string', description: 'Class of the error, such as ValidationException.' },
    message: { type: 'string', description: 'What is wrong.' },
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
  GeminiError: geminiError,
  AwsError: awsError,
};

/** Forms of errors of the gateway, those of the SDKs that call its endpoints. */
export type InferenceErrorForm = 'inference' | 'gemini' | 'aws';

const names: Readonly<Record<ErrorForm | InferenceErrorForm, string>> = {
  flat: 'FlatError',
  oauth: 'OAuthError',
  scim: 'ScimError',
  wrapped: 'Error',
  inference: 'InferenceError',
  gemini: 'GeminiError',
  aws: 'AwsError',
};

export function errorReference(form: ErrorForm | InferenceErrorForm): OpenApiJson {
  return { $ref: `#/components/schemas/${names[form]}` };
}
