import "./graph.css";
