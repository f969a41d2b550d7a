import { defineConfig } from "vitest/config";

// Addresses are relative, so that the page works below any path; a view is one segment of it, and
// everything else of a view stands in its query (src/url.ts).
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/rescheduler/serve/dashboard/page",
    emptyOutDir: true,
    target: "es2023",
    // Whatever is asked for comes from our own origin, as a file: no inline script, style or data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 300,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
