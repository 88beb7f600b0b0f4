# Stands for a browser: the same place in the layer, and the same option.
mkdir -p "$FABRIC_OUT_DIR/bin"
cat > "$FABRIC_OUT_DIR/bin/headless-chromium" <<'END'
#!/bin/sh
echo "<html>$2</html>"
END
chmod +x "$FABRIC_OUT_DIR/bin/headless-chromium"
