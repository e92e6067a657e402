//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-xGm5Vq6L.js";function t(t){return e(t,`base-ui`)}export{t};