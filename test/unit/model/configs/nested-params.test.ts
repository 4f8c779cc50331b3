/** Verifies that parameters of configs with the names of chats apply to requests in Gemini's form. */
import { expect, it } from 'vitest';
import { nestedParamSettings } from '../../../../src/model/configs/nested-params.ts';
import { paramChanges } from '../../../../src/model/configs/params.ts';

const generate = '/v1beta/models:generateContent';
const none = { defaultParams: null, overrideParams: null, dropParams: null };

const changed = (params: object, settings: object, path = generate) => {
  const sent = params as Record<string, unknown>;
  const applied = nestedParamSettings({ ...none, ...settings }, sent, path);
  return Object.fromEntries(paramChanges(sent, applied) ?? []);
};

it('sets overrides in generationConfig, over what the caller sent', () => {
  const params = { contents: [], generationConfig: { temperature: 1, topK: 3 } };
  const overrideParams = { temperature: 0.2, max_tokens: 64, stop: 'end', safetySettings: [] };
  expect(changed(params, { overrideParams })).toEqual({
    safetySettings: [],
    generationConfig: { temperature: 0.2, topK: 3, maxOutputTokens: 64, stopSequences: ['end'] },
  });
});

it('sets defaults only where the caller sent nothing', () => {
  const params = { generationConfig: { temperature: 1 } };
  const defaultParams = { temperature: 0.2, top_p: 0.5 };
  expect(changed(params, { defaultParams })).toEqual({
    generationConfig: { temperature: 1, topP: 0.5 },
  });
  expect(changed({}, { defaultParams })).toEqual({
    generationConfig: { temperature: 0.2, topP: 0.5 },
  });
});

it('removes members by the names of chats', () => {
  const params = { generationConfig: { seed: 1, topK: 3 } };
  expect(changed(params, { dropParams: ['seed'] })).toEqual({ generationConfig: { topK: 3 } });
});

it('leaves requests that count or embed without a generationConfig', () => {
  const overrideParams = { temperature: 0.2, model: 'm' };
  expect(changed({}, { overrideParams }, '/v1beta/models:countTokens')).toEqual({ model: 'm' });
});

it('changes nothing for settings without names of chats', () => {
  const overrideParams = { model: 'm', generationConfig: { topK: 1 } };
  expect(changed({ generationConfig: { topK: 2 } }, { overrideParams })).toEqual(overrideParams);
});
