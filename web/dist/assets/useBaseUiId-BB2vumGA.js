//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-DHkv0YbJ.js";function t(t){return e(t,`base-ui`)}export{t};