/** Declares the environment variables of traces, under their OpenTelemetry names. */
import { z } from 'zod';
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const sampler = forms.oneOf(
  [
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ],
  'parentbased_traceidratio',
);

const share: forms.Form<number> = {
  schema: z
    .string()
    .regex(/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/)
    .transform(Number),
  expected: 'a number from 0 to 1',
  example: '0.1',
};

export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    'Inference',
    { ...forms.webAddress, example: 'http://collector:4318' },
    'Address of the OTLP/HTTP trace collector, without /v1/traces; without it no traces are recorded.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(
    'Inference',
    { ...forms.webAddress, example: 'https://otlp.example.com/v1/traces' },
    'Full address for traces, instead of OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(
    'Inference',
    forms.headerValues,
    'Headers for the collector, such as a credential.',
    { secret: true },
  ),
  OTEL_SERVICE_NAME: defaulted(
    'Inference',
    forms.line('a name', 'gatewright-eu', 255),
    'gatewright',
    'Service name in traces.',
  ),
  OTEL_TRACES_SAMPLER: defaulted(
    'Inference',
    sampler,
    'parentbased_always_on',
    'Which requests are traced: all, none or a share. With parentbased_ the decision of the caller applies to requests that carry a parent span.',
  ),
  OTEL_TRACES_SAMPLER_ARG: defaulted(
    'Inference',
    share,
    '1',
    'Share of requests that the samplers traceidratio and parentbased_traceidratio trace.',
  ),
};
