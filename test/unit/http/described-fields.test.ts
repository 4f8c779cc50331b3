/** Verifies that every field of every body and response of the Admin API has a description. */
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { jsonSchemaOf } from '../../../src/http/openapi/json-schema.ts';
import { fieldTexts } from '../../../src/http/openapi/texts/field-texts.ts';
import { recordTexts } from '../../../src/http/openapi/texts/record-texts.ts';
import { everyRoute } from '../../support/interface/every-route.ts';

interface Schema {
  readonly description?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

const isDescribed = ({ description, $ref, anyOf = [] }: Schema): boolean =>
  description !== undefined ||
  $ref !== undefined ||
  anyOf.some((one) => one.description !== undefined);

/** Calls `report` for the place of each field without a description. */
function findUndescribed(schema: Schema, place: string, report: (place: string) => void): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const own = `${place}.${name}`;
    if (!isDescribed(field)) report(own);
    findUndescribed(field, own, report);
  }
  const { items, additionalProperties: others, anyOf = [], oneOf = [], allOf = [] } = schema;
  const below = typeof others === 'object' ? [others] : [];
  const inside = items === undefined ? below : [...below, items];
  for (const one of [...inside, ...anyOf, ...oneOf, ...allOf]) findUndescribed(one, place, report);
}

const routes = [...new Set(everyRoute().map(({ route }) => route))];

it('describes every field of every body and every response', () => {
  const undescribed: string[] = [];
  const judge = (schema: z.ZodType | undefined, io: 'input' | 'output', place: string): void => {
    if (schema === undefined) return;
    const json = jsonSchemaOf(schema, { io }) as Schema;
    findUndescribed(json, place, (one) => undescribed.push(one));
  };
  for (const { method, path, body, response } of routes) {
    judge(body, 'input', `${method} ${path} body`);
    judge(response, 'output', `${method} ${path} response`);
  }
  expect(routes.length).toBeGreaterThan(200);
  expect(undescribed).toEqual([]);
});

it('states each usual meaning once', () => {
  const twice = Object.keys(recordTexts).filter((name) => Object.hasOwn(fieldTexts, name));
  expect(twice).toEqual([]);
});
