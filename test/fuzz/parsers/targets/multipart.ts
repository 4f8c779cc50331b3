/** Fuzzes the reader of multipart forms: a declared error, or the parts that another reader and a round trip find. */
import { readFormFields, readFormParts } from '../../../../src/gateway/transfer/form-fields.ts';
import { type FormPart, writeForm } from '../../../../src/gateway/transfer/form-parts.ts';
import { GatewayError } from '../../../../src/gateway/transfer/gateway-error.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const type = 'multipart/form-data; boundary=b';

async function partsOf(body: Buffer): Promise<readonly FormPart[] | null> {
  try {
    return await readFormParts(body, type);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** The parts as the platform's own reader finds them; null when it refuses the form. */
async function platformParts(body: Buffer): Promise<readonly FormPart[] | null> {
  try {
    const form = await new Response(Uint8Array.from(body), {
      headers: { 'content-type': type },
    }).formData();
    const parts = [...form].map(async ([name, value]): Promise<FormPart> => {
      if (typeof value === 'string') return { name, file: null, bytes: Buffer.from(value) };
      const bytes = Buffer.from(await value.arrayBuffer());
      return { name, file: { name: value.name, type: value.type }, bytes };
    });
    return await Promise.all(parts);
  } catch {
    return null;
  }
}

const fieldsIn = (parts: readonly FormPart[]) =>
  parts.filter(({ file }) => file === null).map(({ name, bytes }) => [name, bytes.toString()]);

/** Names that browsers write without escapes. */
const isPlain = ({ name, file }: FormPart): boolean =>
  /^[\w.-]*$/.test(name + (file?.name ?? '')) && /^[\w./-]*$/.test(file?.type ?? '');

export const multipartTarget: ParserTarget = {
  name: 'multipart',
  sources: /\/src\/gateway\/transfer\/form-|\/@fastify\/busboy\//,
  dictionary: [
    '--b\r\n',
    '--b--\r\n',
    '\r\n--b\r\n',
    '\r\n--b--',
    'Content-Disposition: form-data; name="a"\r\n\r\n',
    'content-disposition: form-data; name="file"; filename="a.txt"\r\n',
    'content-type: text/plain\r\n\r\n',
    'content-type: text/plain; charset=utf-16le\r\n',
    'content-transfer-encoding: base64\r\n',
    "filename*=utf-8''a%00b",
    'name="model"',
    'name="file_ids[]"',
    'name=a',
    '\\"',
    '\r\n',
    '\n',
    '\r',
    '--',
    '\u00e9',
  ],
  check: async (input) => {
    const parts = await partsOf(input);
    if (parts === null) return;
    requireEqual('the fields', await readFormFields(input, type), fieldsIn(parts));
    const platform = await platformParts(input);
    if (platform !== null) {
      requireEqual('the fields of another reader', fieldsIn(platform), fieldsIn(parts));
    }
    if (!parts.every(isPlain)) return;
    const written = writeForm(parts, type);
    const again = await readFormParts(written, type);
    requireEqual('the parts written again', again, parts);
  },
};
