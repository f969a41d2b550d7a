import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const AS_TEXT = "text of others is set as text, never as markup";

export default defineConfig(
  { ignores: ["node_modules", "src/api/types.ts"] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "no-eval": "error",
      "no-console": "error",
      eqeqeq: "error",
      "max-lines": ["error", { max: 450 }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: AS_TEXT },
        { property: "outerHTML", message: AS_TEXT },
        { property: "insertAdjacentHTML", message: AS_TEXT },
        { property: "dangerouslySetInnerHTML", message: AS_TEXT },
        { object: "document", property: "write", message: AS_TEXT },
        { object: "document", property: "cookie", message: "nothing is stored that names a user" },
        { object: "window", property: "sessionStorage", message: "a token stays in memory" },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: AS_TEXT },
        { selector: "JSXAttribute[name.name='style'] > Literal", message: "a class, or an object" },
      ],
    },
  },
  { files: ["eslint.config.js"], extends: [tseslint.configs.disableTypeChecked] },
);
